/* Ranges of many days: two threads read the same as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folded_text.h"
#include "tests/support/store_each.h"

enum { DAYS = 7 };

/* Of two targets, with a method of its own each day, and one that was compiled on the first. */
static void fill(void)
{
	struct store *s = NULL;

	assert_int_equal(store_open(dir, &(struct store_options){0}, &s, NULL), 0);
	for (uint32_t day = 0; day < DAYS; day++)
		for (pid_t pid = 1; pid <= 2; pid++) {
			struct store_target t = store_test_target(pid);
			struct named_profile *np =
				store_test_profile(MIDNIGHT + day * 86400 + 3600, day, day + (uint64_t)pid);

			np->functions[2].compile = (struct named_compile){.c1_ms = 5000000, .not_entrant = day};
			np->meta.period = day == 3 ? 1 : STORE_TEST_PERIOD;
			np->meta.lost = day;
			assert_int_equal(store_add(s, &t, np, NULL), 0);
			named_profile_free(np);
		}
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
}

static struct named_profile *read_days(uint32_t days, const char *service, bool threads)
{
	struct label label = {"service", service};
	struct store_query q = {.from_ns = MIDNIGHT * SECOND,
				.to_ns = (MIDNIGHT + days * 86400) * SECOND,
				.event = "cpu",
				.labels = &label,
				.n_labels = service != NULL};
	struct named_profile *np = NULL;
	struct store_view *v = NULL;

	assert_int_equal(store_view_open(dir, &q, &v, NULL), 0);
	if (threads)
		store_view_use_threads(v);
	assert_int_equal(store_view_read(v, &np, NULL), 0);
	store_view_close(v);
	return np;
}

static struct named_compile compile_of(const struct named_profile *np, const char *name)
{
	for (uint32_t i = 1; i < np->n_functions; i++)
		if (strcmp(named_string(np, np->functions[i].name), name) == 0)
			return np->functions[i].compile;
	fail();
	return (struct named_compile){0};
}

static void assert_same(uint32_t days, const char *service)
{
	struct named_profile *one = read_days(days, service, false), *two = read_days(days, service, true);
	struct named_compile a = compile_of(one, "b/B.hash"), b = compile_of(two, "b/B.hash");
	char *want = folded_text(one, true), *got = folded_text(two, true);

	assert_string_equal(got, want);
	assert_int_equal(two->meta.start_realtime_ns, one->meta.start_realtime_ns);
	assert_int_equal(two->meta.duration_ns, one->meta.duration_ns);
	assert_int_equal(two->meta.period, one->meta.period);
	assert_int_equal(two->meta.lost, one->meta.lost);
	assert_int_equal(two->meta.complete, one->meta.complete);
	assert_string_equal(two->meta.unit, one->meta.unit);
	assert_string_equal(two->meta.jdk, one->meta.jdk);
	assert_string_equal(two->meta.command, one->meta.command);
	assert_int_equal(a.c1_ms, 5000000 - 3600000); /* sampling began an hour before the first sample */
	assert_memory_equal(&b, &a, sizeof(a));
	free(want);
	free(got);
	named_profile_free(one);
	named_profile_free(two);
}

static void two_threads_read_what_one_does(void **state)
{
	(void)state;
	fill();
	for (uint32_t days = 1; days <= DAYS; days++) {
		assert_same(days, NULL);
		assert_same(days, "shop");
	}
}

static void a_half_may_have_nothing(void **state)
{
	struct named_profile *np;

	(void)state;
	fill();
	np = read_days(2 * DAYS, "bank", true);
	assert_int_equal(np->meta.complete, DAYS * (DAYS - 1) / 2 + 2 * DAYS);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_threads_read_what_one_does, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_half_may_have_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
