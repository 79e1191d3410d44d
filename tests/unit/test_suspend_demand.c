#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "sampler/engine/suspend/suspend_demand.h"
#include "symbolizer/base/clock.h"

#define MS UINT64_C(1000000)

static void work(uint64_t ms)
{
	uint64_t until = clock_monotonic_ns() + ms * MS;

	while (clock_monotonic_ns() < until)
		;
}

static void pause_ms(uint64_t ms)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = (long)(ms * MS)}, NULL);
}

/* With both threads on one CPU, each waits for about half of the time. */
static void on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
}

static void *rival(void *arg)
{
	while (!*(atomic_bool *)arg)
		;
	return NULL;
}

static void the_wait_for_a_cpu_counts(void **state)
{
	enum { MS_EACH = 100 };
	struct suspend_demand d;
	atomic_bool stop = false;
	uint64_t cpu, demand;
	pthread_t t;

	(void)state;
	on_one_cpu();
	assert_int_equal(pthread_create(&t, NULL, rival, &stop), 0);
	suspend_demand_open(&d);
	cpu = clock_thread_cpu_ns();
	work(MS_EACH);
	demand = suspend_demand_take(&d);
	cpu = clock_thread_cpu_ns() - cpu;
	stop = true;
	pthread_join(t, NULL);
	suspend_demand_close(&d);
	assert_in_range(cpu, 0, 90 * MS);
	assert_true(demand >= 90 * MS);
}

static void a_sleep_does_not_count(void **state)
{
	struct suspend_demand d;

	(void)state;
	suspend_demand_open(&d);
	work(1);
	pause_ms(1); /* the account of a thread that runs is behind */
	assert_true(suspend_demand_take(&d) > 0);
	for (int i = 0; i < 2; i++) /* what is waited for a CPU after each counts */
		pause_ms(200);
	assert_in_range(suspend_demand_take(&d), 0, 300 * MS);
	suspend_demand_close(&d);
}

static void without_an_account_there_is_none(void **state)
{
	struct suspend_demand d = {.fd = -1};

	(void)state;
	work(1);
	assert_int_equal(suspend_demand_take(&d), 0);
	suspend_demand_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wait_for_a_cpu_counts),
		cmocka_unit_test(a_sleep_does_not_count),
		cmocka_unit_test(without_an_account_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
