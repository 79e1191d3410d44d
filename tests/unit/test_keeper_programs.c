#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/daemon/keeper/programs.h"
#include "sampler/store/store.h"

enum { START = 4711, MANY = 10000 };
#define SINCE UINT64_C(1795478400000000000)

static uint64_t ask(struct programs *p, pid_t pid, uint64_t start, const char *name, uint64_t since_ns)
{
	const struct label labels[] = {{"service", "shop"}, {"main", name}};

	return programs_start(p, &(struct store_target){.boot_id = "7c1f",
							.pid = pid,
							.start_ticks = start,
							.since_ns = since_ns,
							.labels = labels,
							.n_labels = name ? 2 : 1});
}

/* A worker that is started again introduces the same program again. */
static void the_first_program_is_the_process(void **state)
{
	struct programs *p = programs_new();

	(void)state;
	assert_int_equal(ask(p, 7, START, "a.Shop", SINCE), START);
	assert_int_equal(ask(p, 7, START, "a.Shop", SINCE + 5), START);
	assert_int_equal(ask(p, 8, START, "a.Shop", SINCE), START);
	assert_int_equal(ask(p, 7, START + 1, "b.Bank", SINCE), START + 1);
	programs_free(p);
}

static void a_later_program_is_another_target(void **state)
{
	struct programs *p = programs_new();
	uint64_t second = SINCE / 10000000;

	(void)state;
	assert_int_equal(ask(p, 7, START, "a.Shop", SINCE - 1000), START);
	assert_int_equal(ask(p, 7, START, "b.Bank", SINCE), second);
	assert_int_equal(ask(p, 7, START, "b.Bank", SINCE + UINT64_C(70000000000)), second);
	assert_int_equal(ask(p, 7, START, "a.Shop", SINCE + UINT64_C(90000000000)), second + 9000);
	programs_free(p);
}

/* Who it was could not be read: it is not certain that it is the same. */
static void without_a_name_it_is_another(void **state)
{
	struct programs *p = programs_new();

	(void)state;
	assert_int_equal(ask(p, 7, START, NULL, SINCE), START);
	assert_int_equal(ask(p, 7, START, NULL, SINCE + 1), START);
	assert_int_equal(ask(p, 7, START, "a.Shop", SINCE), SINCE / 10000000);
	programs_free(p);
}

static void what_was_asked_for_long_ago_is_forgotten(void **state)
{
	struct programs *p = programs_new();
	uint64_t second;

	(void)state;
	ask(p, 7, START, "a.Shop", SINCE);
	second = ask(p, 7, START, "b.Bank", SINCE);
	for (pid_t i = 0; i < MANY; i++) {
		assert_int_equal(ask(p, 100 + i, START, "c.Other", SINCE), START);
		if (i % 1000 == 0)
			assert_int_equal(ask(p, 7, START, "b.Bank", SINCE + 1), second);
	}
	assert_int_equal(ask(p, 101, START, "d.Third", SINCE), START);
	programs_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_program_is_the_process),
		cmocka_unit_test(a_later_program_is_another_target),
		cmocka_unit_test(without_a_name_it_is_another),
		cmocka_unit_test(what_was_asked_for_long_ago_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
