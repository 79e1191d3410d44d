#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/events/perf_attach_priv.h"
#include "symbolizer/base/clock.h"

enum { RING = 4096, RINGS = 2, EVENTS = 3 };
#define BURN_NS UINT64_C(100000000)
#define PERIOD_NS 100000

/* Two rings of the kernel. The first two events write to the first one, the third one to the second. */
struct world {
	struct perf_attach a;
	struct perf_ring rings[RINGS];
	int ring_fds[RINGS];
	uint64_t ids[EVENTS], got[EVENTS];
};

/* Of this thread. -1: not permitted here. */
static int open_event(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IDENTIFIER,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool begin(struct world *w)
{
	*w = (struct world){.a = {.rings = w->rings, .ring_fds = w->ring_fds}};
	for (size_t i = 0; i < RINGS; i++) {
		w->ring_fds[i] = open_event(PERF_COUNT_SW_DUMMY);
		if (w->ring_fds[i] < 0)
			return false;
		assert_int_equal(perf_ring_open(&w->rings[i], w->ring_fds[i], RING), 0);
	}
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event_fd e = {open_event(PERF_COUNT_SW_TASK_CLOCK), i == 2, 0};

		assert_true(e.fd >= 0);
		assert_int_equal(ioctl(e.fd, PERF_EVENT_IOC_ID, &w->ids[i]), 0);
		assert_int_equal(ioctl(e.fd, PERF_EVENT_IOC_SET_OUTPUT, w->ring_fds[e.cpu]), 0);
		assert_true(vec_push(&w->a.set.events, e));
	}
	return true;
}

static void done(struct world *w)
{
	for (size_t i = 0; i < EVENTS; i++)
		close(w->a.set.events.v[i].fd);
	for (size_t i = 0; i < RINGS; i++) {
		perf_ring_close(&w->rings[i]);
		close(w->ring_fds[i]);
	}
	vec_done(&w->a.set.events);
}

static void burn(void)
{
	uint64_t end = clock_thread_cpu_ns() + BURN_NS;

	while (clock_thread_cpu_ns() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

static int count(void *ctx, const void *record, size_t size)
{
	const struct perf_event_header *h = record;
	struct world *w = ctx;
	uint64_t id;

	if (h->type != PERF_RECORD_SAMPLE || size < sizeof(*h) + sizeof(id))
		return 0;
	memcpy(&id, h + 1, sizeof(id));
	for (size_t i = 0; i < EVENTS; i++)
		w->got[i] += id == w->ids[i];
	return 0;
}

/* It is full, so that the kernel publishes nothing any more; then it is another one, which all of its events write to. */
static void a_ring_is_replaced(void **state)
{
	struct world w;
	uint64_t head[RINGS];

	(void)state;
	if (!begin(&w))
		skip();
	burn();
	for (size_t i = 0; i < RINGS; i++) {
		head[i] = perf_ring_head(&w.rings[i]);
		assert_in_range(head[i], RING / 2, RING);
	}
	burn();
	assert_int_equal(perf_ring_head(&w.rings[0]), head[0]);
	assert_int_equal(perf_attach_renew_ring(&w.a, 0), 0);
	burn();
	assert_int_equal(perf_ring_drain(&w.rings[0], count, &w), 0);
	assert_true(w.got[0] > 0 && w.got[1] > 0 && w.got[2] == 0);
	memset(w.got, 0, sizeof(w.got));
	assert_int_equal(perf_ring_head(&w.rings[1]), head[1]);
	assert_int_equal(perf_ring_drain(&w.rings[1], count, &w), 0);
	assert_true(w.got[0] == 0 && w.got[1] == 0 && w.got[2] > 0);
	memset(w.got, 0, sizeof(w.got));
	burn();
	assert_int_equal(perf_ring_drain(&w.rings[0], count, &w), 0);
	assert_true(w.got[0] > 0 && w.got[1] > 0 && w.got[2] == 0);
	done(&w);
}

/* What cannot be mapped leaves an empty ring, which is not read. */
static void what_cannot_be_replaced(void **state)
{
	struct world w;
	int fd;

	(void)state;
	if (!begin(&w))
		skip();
	burn();
	fd = w.ring_fds[0];
	w.ring_fds[0] = -1;
	assert_true(perf_attach_renew_ring(&w.a, 0) < 0);
	assert_int_equal(perf_ring_used(&w.rings[0]), 0);
	assert_int_equal(perf_ring_drain(&w.rings[0], count, &w), 0);
	assert_int_equal(w.got[0] + w.got[1], 0);
	w.ring_fds[0] = fd;
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_is_replaced),
		cmocka_unit_test(what_cannot_be_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
