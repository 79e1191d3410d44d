#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>

#include "sampler/engine/perf/copies/thread_stacks.h"
#include "sampler/engine/perf/quiet_cpu.h"

#define MS UINT64_C(1000000)
#define COMMON UINT32_C(65528)

static struct thread_stacks *fresh(void)
{
	struct thread_stacks *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	return s;
}

/* `n` samples of depths from `least` to `most`; how often events were to be opened again. */
static int feed(struct thread_stacks *s, pid_t tid, int n, uint64_t least, uint64_t most, uint64_t now)
{
	int changes = 0;

	for (int i = 0; i < n; i++) {
		struct stack_use u = {
			.tid = tid, .copy = thread_stacks_size(s, tid, COMMON), .used = i % 2 ? least : most};

		changes += thread_stacks_note(s, &u, COMMON, now);
	}
	return changes;
}

static bool cut(struct thread_stacks *s, pid_t tid, uint32_t copy, uint64_t now)
{
	struct stack_use u = {.tid = tid, .copy = copy, .used = copy, .cut = true};

	return thread_stacks_note(s, &u, COMMON, now);
}

/* One deep thread does not keep the others large. */
static void test_each_its_own(void **state)
{
	struct thread_stacks *s = fresh();

	(void)state;
	assert_int_equal(feed(s, 1, 40, 6500, 6600, 1000 * MS), 0);
	assert_int_equal(feed(s, 2, 100, 30000, 60000, 1000 * MS), 0);
	assert_int_equal(thread_stacks_size(s, 1, COMMON), COMMON);
	assert_int_equal(feed(s, 1, 40, 6500, 6600, 1300 * MS), 1);
	assert_in_range(thread_stacks_size(s, 1, COMMON), 6600 + 1024, 6500 + 2304);
	assert_int_equal(thread_stacks_size(s, 1, COMMON) % 8, 0);
	assert_int_equal(thread_stacks_size(s, 2, COMMON), COMMON);
	assert_int_equal(thread_stacks_size(s, 3, COMMON), COMMON);
	assert_int_equal(thread_stacks_size(s, 1, 4096), 4096); /* never more than the common one */
	free(s);
}

static void test_needs_time_and_samples(void **state)
{
	struct thread_stacks *s = fresh();

	(void)state;
	assert_int_equal(feed(s, 1, 60, 6500, 6500, 1000 * MS), 0);
	assert_int_equal(feed(s, 1, 3, 6500, 6500, 9000 * MS), 0);
	assert_int_equal(feed(s, 1, 1, 6500, 6500, 9000 * MS), 1);
	free(s);
	s = fresh();
	assert_int_equal(feed(s, 1, 5000, 6500, 6500, 1000 * MS), 0);
	assert_int_equal(feed(s, 1, 1, 6500, 6500, 1249 * MS), 0);
	free(s);
}

/* Not for a thread whose depth varies much, nor again for little. */
static void test_spread(void **state)
{
	struct thread_stacks *s = fresh();
	uint32_t size;

	(void)state;
	feed(s, 1, 1, 8000, 8000, 1000 * MS);
	assert_int_equal(feed(s, 1, 2000, 2000, 24000, 1300 * MS), 0);
	assert_int_equal(feed(s, 2, 1000, 4000, 8000, 1300 * MS), 0); /* deeper ones may come */
	assert_int_equal(feed(s, 2, 100, 4000, 8000, 1300 * MS), 1);
	size = thread_stacks_size(s, 2, COMMON);
	assert_int_equal(size, 16128); /* 8,000 and twice 4,000, in steps of 256 */
	assert_int_equal(feed(s, 2, 5000, 7000, 10000, 100000 * MS), 0);
	assert_int_equal(thread_stacks_size(s, 2, COMMON), size);
	free(s);
}

/* The first cut stack takes all back; that thread is left alone from then on, others begin anew. */
static void test_cut(void **state)
{
	struct thread_stacks *s = fresh();

	(void)state;
	feed(s, 1, 80, 5000, 5000, 1000 * MS);
	feed(s, 2, 80, 5000, 5000, 1000 * MS);
	assert_int_equal(feed(s, 1, 80, 5000, 5000, 1300 * MS), 1);
	assert_true(thread_stacks_size(s, 2, COMMON) < COMMON);
	assert_true(cut(s, 1, 8192, 1400 * MS));
	assert_false(cut(s, 1, 8192, 1400 * MS)); /* was under way */
	assert_int_equal(thread_stacks_size(s, 1, COMMON), COMMON);
	assert_int_equal(thread_stacks_size(s, 2, COMMON), COMMON);
	assert_int_equal(feed(s, 1, 5000, 5000, 5000, 90000 * MS), 0);
	assert_int_equal(feed(s, 2, 1000, 5000, 5000, 90000 * MS), 0);
	assert_int_equal(feed(s, 2, 100, 5000, 5000, 90000 * MS), 1);
	/* The new events were refused: asked for again later. */
	assert_true(cut(s, 1, 8192, 99000 * MS));
	free(s);
}

/* Deeper than the largest copy: none of this table's business. */
static void test_cut_at_the_common_size(void **state)
{
	struct thread_stacks *s = fresh();

	(void)state;
	assert_false(cut(s, 1, COMMON, 1000 * MS));
	/* The largest size does not fit into a record beside a kernel's call chain; the kernel takes less. */
	assert_false(cut(s, 1, 64200, 1000 * MS));
	assert_int_equal(thread_stacks_size(s, 1, COMMON), COMMON);
	free(s);
}

static void test_new_owner(void **state)
{
	struct thread_stacks *s = fresh();

	(void)state;
	feed(s, 5, 1, 5000, 5000, 1000 * MS);
	assert_int_equal(feed(s, 5, 100, 5000, 5000, 1300 * MS), 1);
	feed(s, 5 + THREAD_STACKS, 1, 5000, 5000, 1300 * MS);
	assert_int_equal(thread_stacks_size(s, 5, COMMON), COMMON);
	assert_int_equal(thread_stacks_size(s, 5 + THREAD_STACKS, COMMON), COMMON);
	assert_int_equal(feed(s, 6, 100, 5000, 5000, 9000 * MS), 1);
	thread_stacks_forget(s, 6);
	assert_int_equal(thread_stacks_size(s, 6, COMMON), COMMON);
	thread_stacks_forget(s, 7);
	free(s);
}

static void round_of(struct quiet_cpu *q, const int *cpus, const uint64_t *used, size_t n)
{
	quiet_cpu_begin(q);
	for (size_t i = 0; i < n; i++)
		quiet_cpu_note(q, cpus[i], used[i]);
	quiet_cpu_end(q);
}

/* Off the CPU where something was sampled, to one where nothing was, and only now and then. */
static void test_moves_away(void **state)
{
	struct quiet_cpu q = {0};
	cpu_set_t set, after;
	int cpus[2], n = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	if (n < 2)
		return; /* nowhere to go */
	for (int i = 0; i < 2; i++) {
		uint64_t used[2] = {i == 0, i == 1};
		cpu_set_t one;

		/* To be on that CPU for certain while it is looked at: free again before the move. */
		CPU_ZERO(&one);
		CPU_SET(cpus[i], &one);
		q.rounds = 0;
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		quiet_cpu_begin(&q);
		assert_int_equal(q.here, cpus[i]);
		quiet_cpu_note(&q, cpus[0], used[0]);
		quiet_cpu_note(&q, cpus[1], used[1]);
		assert_true(q.own_ring_used);
		assert_int_equal(q.empty, cpus[!i]);
		assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
		quiet_cpu_end(&q);
		assert_int_equal(q.rounds, 1); /* too early */
		q.rounds = 1000;
		quiet_cpu_end(&q);
		assert_int_equal(q.rounds, 0); /* moved */
		assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
		assert_true(CPU_EQUAL(&set, &after));
	}
}

static void test_stays(void **state)
{
	const int cpus[] = {100000, 100001};
	const uint64_t busy[] = {1, 1}, idle[] = {0, 0};
	struct quiet_cpu q = {.rounds = 1000};

	(void)state;
	round_of(&q, cpus, busy, 2); /* not on either of them */
	assert_int_equal(q.rounds, 1001);
	round_of(&q, cpus, idle, 2);
	assert_int_equal(q.rounds, 1002);
	/* A CPU that there is not: no move, and no harm. */
	q.own_ring_used = true;
	q.empty = 100000;
	quiet_cpu_end(&q);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_its_own),	 cmocka_unit_test(test_needs_time_and_samples),
		cmocka_unit_test(test_spread),		 cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_at_the_common_size), cmocka_unit_test(test_new_owner),
		cmocka_unit_test(test_moves_away),	 cmocka_unit_test(test_stays),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
