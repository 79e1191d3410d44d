#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/engine/perf/rings/ring_watch.h"

#define MS UINT64_C(1000000)

/* One round of the drain thread; counts are read only when due. */
static bool is_stuck(struct ring_watch *w, uint64_t head, uint64_t lost, uint64_t ms)
{
	return ring_watch_due(w, head, ms * MS) && ring_watch_note(w, lost, ms * MS);
}

/* Recorded at 999 Hz with a copy of 32 KiB: 245 samples were lost in 0.3 s, and no record said so. */
static void test_stuck(void **state)
{
	struct ring_watch w = {0};
	uint64_t found = 0;

	(void)state;
	for (uint64_t ms = 20; ms <= 300; ms += 20)
		assert_false(is_stuck(&w, 33000 * ms, 0, ms));
	for (uint64_t ms = 320; ms <= 600 && !found; ms += 20)
		if (is_stuck(&w, 33000 * 300, ms < 340 ? 0 : ms - 340, ms))
			found = ms;
	assert_in_range(found, 350, 440);
}

static void test_busy(void **state)
{
	struct ring_watch w = {0};

	(void)state;
	/* Samples are lost because the reader comes late: the ring itself works. */
	for (uint64_t ms = 20; ms <= 2000; ms += 20)
		assert_false(is_stuck(&w, 1 + ms / 40, ms, ms));
}

static void test_idle(void **state)
{
	struct ring_watch w = {0};
	unsigned reads = 0;

	(void)state;
	for (uint64_t ms = 20; ms <= 20000; ms += 20) {
		if (!ring_watch_due(&w, 7, ms * MS))
			continue;
		reads++;
		assert_false(ring_watch_note(&w, 5, ms * MS));
	}
	assert_in_range(reads, 10, 30);
}

/* New events count from 0. */
static void test_new_events(void **state)
{
	struct ring_watch w = {0};

	(void)state;
	assert_false(is_stuck(&w, 7, 100, 20));
	assert_false(is_stuck(&w, 7, 100, 80));
	assert_false(is_stuck(&w, 7, 0, 200));
	assert_true(is_stuck(&w, 7, 1, 800));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_new_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
