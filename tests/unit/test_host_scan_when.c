#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/daemon/host/scan_when.h"

#define MS UINT64_C(1000000)

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
	assert_int_equal(scan(&w, false), 5000);
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
	assert_int_equal(scan(&w, false), 5000);
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
	static const unsigned pauses[] = {250, 500, 1000, 2000, 4000, 5000, 5000, 5000};
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
	assert_int_equal(scan(&w, true), 5000);
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
	for (int i = 0; i < 2; i++)
		assert_int_equal(scan(&w, false), 5000);
	scan_when_ask(&w, true);
	assert_int_equal(scan(&w, false), 1000);
	for (int i = 0; i < 10; i++)
		assert_int_equal(scan(&w, false), 5000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rarely_while_the_worker_tells), cmocka_unit_test(what_is_left_comes_soon),
		cmocka_unit_test(a_new_jvm_is_found_soon),       cmocka_unit_test(who_cries_wolf_is_believed_less),
		cmocka_unit_test(silence_is_trusted_again),      cmocka_unit_test(never_later_than_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
