#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "sampler/engine/perf/event_choice.h"
#include "symbolizer/target/proc.h"

#define SECOND UINT64_C(1000000000)

static bool note(struct event_choice *c, size_t threads, uint64_t run_ns, uint64_t switches)
{
	const struct event_load l = {threads, 2, run_ns, switches};

	event_choice_note(c, &l);
	return c->by_thread;
}

static void test_few_threads_that_switch_seldom(void **state)
{
	struct event_choice c = {0};

	(void)state;
	assert_false(note(&c, 20, SECOND / 100, 0)); /* not known yet */
	assert_true(note(&c, 20, SECOND, 1000));
	assert_true(note(&c, 20, 2 * SECOND, 1000 + 3000)); /* not at once back */
	assert_false(note(&c, 20, 3 * SECOND, 4000 + 5000));
	assert_false(note(&c, 20, 4 * SECOND, 9000 + 3000));
	assert_true(note(&c, 20, 5 * SECOND, 12000 + 1000));
	/* As one that does nothing stays. */
	assert_true(note(&c, 20, 5 * SECOND + 1000, 13000 + 5000));
}

static void test_many_threads(void **state)
{
	struct event_choice c = {0};

	(void)state;
	assert_false(note(&c, 129, SECOND, 0));
	assert_true(note(&c, 128, 2 * SECOND, 0));
	assert_true(note(&c, 256, 3 * SECOND, 0));
	assert_false(note(&c, 257, 4 * SECOND, 0));
}

static void test_sums_that_make_no_sense(void **state)
{
	struct event_choice c = {0};

	(void)state;
	assert_true(note(&c, 2, 9 * SECOND, 100));
	assert_true(note(&c, 2, SECOND, 50)); /* threads ended */
	assert_false(note(&c, 2, 2 * SECOND, 10000));
	assert_false(note(&c, 2, 3 * SECOND, UINT64_MAX));
	assert_true(note(&c, 2, UINT64_MAX, UINT64_MAX));
	c = (struct event_choice){.refused = true};
	assert_false(note(&c, 1, 9 * SECOND, 0));
}

/* This very process, which has burnt some CPU time without a pause. */
static void test_look(void **state)
{
	struct event_choice c = {0}, refused = {.refused = true};
	struct proc *p;
	uint64_t run = 0;

	(void)state;
	assert_int_equal(proc_open(getpid(), &p, NULL), 0);
	while (proc_thread_cpu_ns(p, getpid(), &run) == 0 && run < SECOND / 10)
		for (volatile int i = 0; i < 1000000; i++)
			;
	event_choice_poll(&c, p, 2, SECOND);
	assert_true(c.run_ns >= SECOND / 50 || c.run_ns == 0); /* 0: no schedstat here */
	run = c.run_ns;
	c.run_ns = 7;
	event_choice_poll(&c, p, 2, 2 * SECOND); /* too soon */
	assert_int_equal(c.run_ns, 7);
	assert_false(event_choice_poll(&refused, p, 2, SECOND));
	assert_int_equal(refused.next_ns, 0);
	proc_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_threads_that_switch_seldom),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_sums_that_make_no_sense),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
