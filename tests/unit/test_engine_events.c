#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "sampler/engine/perf/events/event_set.h"
#include "sampler/engine/perf/events/perf_attr.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc.h"

/* A process whose threads start faster than they can be listed: each time it has NEW more, which end at once. */
enum { NEW = 20, FEW_LISTINGS = 8 };

static size_t listings, opened, drained;

int __wrap_proc_tasks(struct proc *p, pid_t **ret, size_t *ret_n);
int __wrap_proc_tasks(struct proc *p, pid_t **ret, size_t *ret_n)
{
	(void)p;
	*ret_n = ++listings * NEW;
	*ret = malloc(*ret_n * sizeof(**ret));
	assert_non_null(*ret);
	for (size_t i = 0; i < *ret_n; i++)
		(*ret)[i] = (pid_t)(i + 1);
	return 0;
}

int __wrap_perf_open_places(const struct perf_event_attr *attr, const struct event_place *places, size_t n,
			    int filter_fd, int *fds, size_t *ret_opened);
int __wrap_perf_open_places(const struct perf_event_attr *attr, const struct event_place *places, size_t n,
			    int filter_fd, int *fds, size_t *ret_opened)
{
	(void)attr, (void)places, (void)filter_fd, (void)fds;
	assert_in_range(n, 1, EVENT_PLACES_MAX);
	opened++;
	*ret_opened = 0;
	return -ESRCH;
}

static void count_drain(void *ctx)
{
	(void)ctx;
	/* An event may take a millisecond to open, in which a busy ring gets two of the 64 samples it has room for. */
	assert_true(opened - drained <= 1);
	drained = opened;
}

static void test_threads_without_end(void **state)
{
	const struct perf_config config = {.period = 1};
	const int cpus[] = {0}, rings[] = {-1};
	const struct event_target t = {
		.config = &config, .cpus = cpus, .ring_fds = rings, .n_cpus = 1, .drain = count_drain};
	struct event_set s = {0};

	(void)state;
	assert_int_equal(event_set_open_threads(&s, &t, false), -ESRCH);
	assert_true(listings <= FEW_LISTINGS);
	assert_int_equal(opened, listings * NEW);
	assert_true(opened - drained <= 1);
	event_set_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
