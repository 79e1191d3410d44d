#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/daemon/host/look_when.h"
#include "sampler/daemon/host/scan_when.h"

#define MS UINT64_C(1000000)

/* --- scans --- */

/* A scan when it is due, which finds a new JVM or not. Returns how many ms after the last one. */
static unsigned scan(struct scan_when *w, bool found)
{
	uint64_t since_ns = w->scanned_ns, now_ns = scan_when_next(w);

	scan_when_done(w, now_ns, false, found);
	return (unsigned)((now_ns - since_ns) / MS);
}

static void rarely_while_the_worker_tells(void **state)
{
	struct scan_when w = {0};

	(void)state;
	assert_int_equal(scan(&w, false), 1000);
	assert_true(scan_when_tells(&w, true));
	assert_int_equal(scan(&w, false), 250); /* of what was before, nobody has told */
	assert_false(scan_when_tells(&w, true));
	assert_int_equal(scan(&w, false), 15000);
	assert_false(scan_when_tells(&w, false));
	assert_int_equal(scan(&w, false), 1000);
	assert_true(scan_when_tells(&w, true));
}

/* It had too little time, or failed. */
static void what_is_left_comes_soon(void **state)
{
	struct scan_when w = {0};

	(void)state;
	scan_when_tells(&w, true);
	scan_when_done(&w, scan_when_next(&w), true, false);
	assert_int_equal(scan(&w, false), 1000);
	assert_int_equal(scan(&w, false), 15000);
}

/* A JVM is found soon, however many there are, and whatever ends. */
static void a_new_jvm_is_found_soon(void **state)
{
	struct scan_when w = {.tells = true};

	(void)state;
	for (int i = 0; i < 20; i++) {
		scan_when_ask(&w, true);
		scan_when_ask(&w, true);
		assert_int_equal(scan(&w, true), 250);
	}
	for (int i = 0; i < 20; i++) {
		scan_when_ask(&w, false);
		assert_int_equal(scan(&w, false), 250);
	}
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, false), 250);
}

/* Any program can have it tell of something all the time. */
static void who_cries_wolf_is_believed_less(void **state)
{
	static const unsigned pauses[] = {250, 500, 1000, 2000, 4000, 4000, 4000, 4000};
	struct scan_when w = {.tells = true};

	(void)state;
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		scan_when_ask(&w, true);
		assert_int_equal(scan(&w, false), pauses[i]);
	}
	scan_when_ask(&w, true);
	scan_when_ask(&w, false); /* what has ended is looked at all the same */
	assert_int_equal(scan(&w, false), 250);
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, true), 4000);
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, false), 250);
}

static void silence_is_trusted_again(void **state)
{
	struct scan_when w = {.tells = true};

	(void)state;
	for (int i = 0; i < 4; i++) {
		scan_when_ask(&w, true);
		scan(&w, false);
	}
	assert_int_equal(scan(&w, false), 15000);
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, false), 1000);
	for (int i = 0; i < 10; i++)
		assert_int_equal(scan(&w, false), 15000);
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, false), 250);
}

/* Without a worker that tells, a scan never comes later than otherwise. */
static void never_later_than_usual(void **state)
{
	struct scan_when w = {.doubled = 5};

	(void)state;
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, false), 1000);
}

/* --- looks at one process --- */

/* A look when it is due. Returns how many s after the last one. */
static unsigned look(struct look_when *l, bool told)
{
	uint64_t since_ns = l->looked_ns, now_ns = look_when_next(l, told);

	look_when_done(l, now_ns, told);
	return (unsigned)((now_ns - since_ns) / (1000 * MS));
}

static void looks_become_rarer(void **state)
{
	struct look_when l = {.looked_ns = 5};

	(void)state;
	assert_int_equal(look(&l, false), 0);
	for (unsigned s = 1; s < 32; s *= 2)
		assert_int_equal(look(&l, false), s);
	for (int i = 0; i < 10; i++)
		assert_int_equal(look(&l, false), 32);
}

static void even_rarer_while_somebody_tells(void **state)
{
	struct look_when l = {0};

	(void)state;
	assert_int_equal(look(&l, true), 0);
	for (unsigned s = 1; s < 256; s *= 2)
		assert_int_equal(look(&l, true), s);
	assert_int_equal(look(&l, true), 256);
	assert_int_equal(look(&l, true), 256);
	assert_int_equal(look_when_latest(&l, true) - look_when_next(&l, true), 64000 * MS);
	assert_int_equal(look(&l, false), 32); /* nobody tells any more */
	assert_int_equal(look_when_latest(&l, false) - look_when_next(&l, false), 8000 * MS);
}

static void an_early_look_does_not_make_them_rarer(void **state)
{
	struct look_when l = {0};

	(void)state;
	look(&l, false);
	look(&l, false);
	for (int i = 0; i < 5; i++)
		look_when_done(&l, look_when_next(&l, false) - MS, false);
	assert_int_equal(look(&l, false), 2);
	l.delay_ns = 0; /* as if it were new */
	assert_int_equal(look(&l, false), 0);
	assert_int_equal(look(&l, false), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rarely_while_the_worker_tells),
		cmocka_unit_test(what_is_left_comes_soon),
		cmocka_unit_test(a_new_jvm_is_found_soon),
		cmocka_unit_test(who_cries_wolf_is_believed_less),
		cmocka_unit_test(silence_is_trusted_again),
		cmocka_unit_test(never_later_than_usual),
		cmocka_unit_test(looks_become_rarer),
		cmocka_unit_test(even_rarer_while_somebody_tells),
		cmocka_unit_test(an_early_look_does_not_make_them_rarer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
