#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/engine/perf/events/perf_attach_priv.h"
#include "sampler/engine/perf/events/perf_explain.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/kernel_setting.h"
#include "symbolizer/target/proc.h"

enum {
	RING_MIN = 64 << 10,
	RING_FIRST = 512 << 10,
	RING_MAX = 4 << 20,
};

/* Room for a tenth of a second on one busy CPU. */
size_t attach_ring_size(const struct perf_config *c)
{
	uint64_t rate = c->event.clock && c->period ? 1000000000 / c->period : 1000;
	uint64_t want = rate * (c->stack_bytes + 512) / 10;
	size_t size = RING_FIRST;

	while (size < want && size < RING_MAX)
		size *= 2;
	return size;
}

static int open_leader(struct perf_attach *a, size_t i)
{
	struct perf_event_attr attr;
	bool wide = a->mode == PERF_ATTACH_CPUS;
	pid_t *tids;
	size_t n;
	int r;

	perf_attr_leader(&a->config, wide, &attr);
	if (wide)
		return perf_open(&attr, -1, a->cpus[i], -1);
	/* Any thread will do; the first usually lives longest. */
	r = proc_tasks(a->proc, &tids, &n);
	if (r < 0)
		return r;
	r = -ESRCH;
	for (size_t j = 0; j < n && r == -ESRCH; j++)
		r = perf_open(&attr, tids[j], a->cpus[i], -1);
	free(tids);
	return r;
}

/* *mapping: set if it was the ring's memory that was refused. */
static int open_ring(struct perf_attach *a, size_t i, bool *mapping)
{
	int fd, r;

	a->config.wakeup_bytes = a->ring_size / 4;
	fd = open_leader(a, i);
	*mapping = fd >= 0;
	if (fd < 0)
		return fd;
	r = perf_ring_open(&a->rings[i], fd, a->ring_size);
	if (r < 0) {
		close(fd);
		return r;
	}
	a->ring_fds[i] = fd;
	return 0;
}

void attach_rings_close(struct perf_attach *a)
{
	for (size_t i = 0; i < a->n_cpus; i++) {
		if (a->rings)
			perf_ring_close(&a->rings[i]);
		if (a->ring_fds && a->ring_fds[i] >= 0) {
			close(a->ring_fds[i]);
			a->ring_fds[i] = -1;
		}
	}
}

static int open_all_rings(struct perf_attach *a, bool *mapping)
{
	for (size_t i = 0; i < a->n_cpus; i++) {
		int r = open_ring(a, i, mapping);

		/* The CPU went offline since the list was read. */
		if (r == -ENODEV && !*mapping && a->n_cpus > 1) {
			a->cpus[i] = a->cpus[--a->n_cpus];
			i--;
			continue;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int attach_rings_open(struct perf_attach *a, struct err *err)
{
	size_t wanted = attach_ring_size(&a->config);
	bool mapping;
	int r;

	for (a->ring_size = wanted;; a->ring_size /= 2) {
		r = open_all_rings(a, &mapping);
		if (r == 0)
			break;
		attach_rings_close(a);
		if ((r != -EPERM && r != -ENOMEM) || !mapping)
			return perf_explain_open(r, a->proc, &a->config, err);
		if (a->ring_size <= RING_MIN)
			return perf_explain_mmap(r, a->ring_size, err);
	}
	if (a->ring_size < wanted)
		log_warn("the ring of each CPU has %zu KiB instead of %zu: kernel.perf_event_mlock_kb is "
			 "%lld; samples may be lost at high rates",
			 a->ring_size / 1024, wanted / 1024, (long long)kernel_setting("perf_event_mlock_kb", 0));
	return 0;
}

/* --- Rings that are stuck */

bool perf_attach_rings_may_stick(const struct perf_attach *a)
{
	const unsigned both = PERF_CAN_READ_ENDED | PERF_CAN_COUNT_LOST;

	return perf_attach_by_thread(a) && (a->config.features & both) == both;
}

uint64_t perf_attach_ring_lost(const struct perf_attach *a, size_t ring)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->set.events.n; i++)
		if (a->set.events.v[i].cpu == ring)
			sum += event_lost(&a->set.events.v[i]);
	return sum;
}

int perf_attach_renew_ring(struct perf_attach *a, size_t ring)
{
	int r = perf_ring_renew(&a->rings[ring], a->ring_fds[ring]);

	/* Inherited events write to the ring of the event that they were inherited from. */
	for (size_t i = 0; r == 0 && i < a->set.events.n; i++) {
		const struct event_fd *e = &a->set.events.v[i];

		if (e->cpu == ring && ioctl(e->fd, PERF_EVENT_IOC_SET_OUTPUT, a->ring_fds[ring]) < 0)
			r = -errno;
	}
	return r;
}
