#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/session/each_process.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/data_limit.h"
#include "symbolizer/base/err.h"

/* PIDs that no process has: only look() gives them a meaning. */
enum { FIRST = 1 << 23, N = 20, HANGS = FIRST + 7, DIES = FIRST + 9, GREEDY = FIRST + 11, SILENT = FIRST + 13 };

struct seen {
	int found[N], stuck[N];
};

static bool look(void *ctx, pid_t pid, void *record)
{
	(void)ctx;
	if (pid == HANGS)
		for (;;)
			pause();
	if (pid == DIES)
		abort();
	if (pid == GREEDY) {
		void *p = mmap(NULL, 2 * (size_t)EACH_BYTES * DATA_LIMIT_FACTOR, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		/* Without so much memory it goes on. Not malloc(), which ASan has abort. */
		if (p != MAP_FAILED)
			abort();
	}
	memcpy(record, &pid, sizeof(pid));
	return pid != SILENT;
}

static void found(void *ctx, pid_t pid, const void *record)
{
	struct seen *s = ctx;

	assert_memory_equal(record, &pid, sizeof(pid));
	s->found[pid - FIRST]++;
}

static void stuck(void *ctx, pid_t pid)
{
	struct seen *s = ctx;

	s->stuck[pid - FIRST]++;
}

/* Returns how many were not looked at, and how long it took. */
static size_t look_at_all(pid_t *pids, struct seen *s, uint64_t *ret_ns)
{
	const struct each_process e = {s, sizeof(pid_t), look, found, stuck};
	uint64_t start = clock_monotonic_ns();
	struct err err = {0};
	size_t left;

	assert_int_equal(each_process(pids, N, &e, &left, &err), 0);
	*ret_ns = clock_monotonic_ns() - start;
	return left;
}

static void test_none_holds_up_the_others(void **state)
{
	struct seen s = {0};
	pid_t pids[N];
	uint64_t ns;

	(void)state;
	for (int i = 0; i < N; i++)
		pids[i] = FIRST + i;
	assert_int_equal(look_at_all(pids, &s, &ns), 0);
	for (int i = 0; i < N; i++) {
		bool bad = FIRST + i == HANGS || FIRST + i == DIES;

		assert_int_equal(s.stuck[i], bad);
		assert_int_equal(s.found[i], !bad && FIRST + i != SILENT);
	}
	assert_in_range(ns, EACH_PATIENCE_MS * UINT64_C(1000000), EACH_ALL_MS * UINT64_C(1000000));
}

/* All of them hang: what there was no time for is counted. */
static void test_time_is_limited(void **state)
{
	struct seen s = {0};
	pid_t pids[N];
	uint64_t ns;
	size_t left;

	(void)state;
	for (int i = 0; i < N; i++)
		pids[i] = HANGS;
	left = look_at_all(pids, &s, &ns);
	assert_true(left >= N / 2);
	assert_int_equal(s.stuck[HANGS - FIRST] + left, N);
	assert_true(ns < (EACH_ALL_MS + EACH_PATIENCE_MS) * UINT64_C(1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_holds_up_the_others),
		cmocka_unit_test(test_time_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
