#include "sampler/engine/perf/events/host_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/engine/cpu_list.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Of samples: half a second of a busy CPU at 49 Hz with the largest copies. */
enum { SAMPLES_BYTES = 2 << 20, OTHERS_BYTES = 128 << 10, LEAST_BYTES = 64 << 10 };
enum { WAITING_BYTES = 16 << 20 }; /* of samples, in the rings of all CPUs, before the reader is woken */
/*
 * Of others. A JVM that starts writes twice as much. Each wakeup interrupts whoever caused the record: for each record,
 * it would make fork(2) and execve(2) 8 % slower.
 */
enum { OTHERS_WAITING_BYTES = 1024 };

static struct event_target on_cpus(const struct host_events *h, const struct perf_config *c)
{
	return (struct event_target){
		.config = c,
		.cpus = h->cpus,
		.ring_fds = h->fds,
		.n_cpus = h->n_cpus,
		.filter_fd = h->members.fd,
	};
}

static uint32_t wakeup_bytes(const struct host_events *h, bool samples, size_t bytes)
{
	size_t all = WAITING_BYTES / h->n_cpus;

	if (!samples)
		return OTHERS_WAITING_BYTES;
	return (uint32_t)(all < bytes / 4 ? all : bytes / 4);
}

static int open_ring(struct host_events *h, size_t i, bool samples, size_t bytes)
{
	struct perf_event_attr attr;
	int r;

	h->config.wakeup_bytes = wakeup_bytes(h, samples, bytes);
	perf_attr_leader(&h->config, !samples, &attr);
	h->fds[i] = perf_open(&attr, -1, h->cpus[i % h->n_cpus], -1);
	if (h->fds[i] < 0)
		return h->fds[i];
	do
		r = perf_ring_open(&h->rings[i], h->fds[i], bytes);
	while ((r == -EPERM || r == -ENOMEM) && (bytes /= 2) >= LEAST_BYTES);
	return r;
}

static int open_rings(struct host_events *h)
{
	size_t n = host_events_rings(h);
	int r = 0;

	h->rings = calloc(n, sizeof(*h->rings));
	h->fds = malloc(n * sizeof(*h->fds));
	if (!h->rings || !h->fds)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		h->fds[i] = -1;
	for (size_t i = n; r == 0 && i-- > 0;)
		r = open_ring(h, i, i < h->n_cpus, i < h->n_cpus ? SAMPLES_BYTES : OTHERS_BYTES);
	return r;
}

static int open_all(struct host_events *h)
{
	struct event_target t;
	int r = cpu_list_online(&h->cpus, &h->n_cpus);

	if (r == 0)
		r = perf_attr_probe(&h->config, -1, h->cpus[0]);
	if (r == 0)
		r = perf_members_open(&h->members);
	if (r == 0)
		r = open_rings(h);
	if (r < 0)
		return r;
	t = on_cpus(h, &h->config);
	return event_set_open_cpus(&h->set, &t);
}

int host_events_open(struct host_events *h, const struct perf_config *config, struct err *err)
{
	int r;

	*h = (struct host_events){.config = *config, .members = {.fd = -1, .exec_fd = -1}};
	h->config.sideband_apart = true;
	r = open_all(h);
	return r < 0 ? err_set(err, r, "one set of perf events for all processes is not possible here: %s",
			       strerror(-r)) :
		       0;
}

void host_events_close(struct host_events *h)
{
	event_set_done(&h->set);
	for (size_t i = 0; h->rings && h->fds && i < host_events_rings(h); i++) {
		perf_ring_close(&h->rings[i]);
		close_at_exit(&h->fds[i]);
	}
	perf_members_close(&h->members);
	free(h->rings);
	free(h->fds);
	free(h->cpus);
	*h = (struct host_events){.members = {.fd = -1, .exec_fd = -1}};
}

static void switch_rings(const struct host_events *h, unsigned long request)
{
	for (size_t i = 0; i < host_events_rings(h); i++)
		ioctl(h->fds[i], request, 0);
}

void host_events_enable(struct host_events *h)
{
	struct event_target t = on_cpus(h, &h->config);

	/* Spread over a period, so that CPUs do not interrupt what they do at the same moment. */
	t.stagger_ns = (h->config.period < 10000000 ? h->config.period : 10000000) / h->n_cpus;
	switch_rings(h, PERF_EVENT_IOC_ENABLE);
	event_set_enable(&h->set, &t);
	h->enabled = true;
}

void host_events_disable(struct host_events *h)
{
	event_set_disable(&h->set);
	switch_rings(h, PERF_EVENT_IOC_DISABLE);
	h->enabled = false;
}

static void replace(struct host_events *h, struct event_set *fresh)
{
	for (size_t i = 0; i < fresh->events.n && h->enabled; i++) {
		ioctl(h->set.events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		ioctl(fresh->events.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	if (h->config.features & PERF_CAN_COUNT_LOST)
		event_set_read_lost(&h->set, &h->lost_before);
	event_set_done(&h->set);
	h->set = *fresh;
}

int host_events_resize(struct host_events *h, uint32_t stack_bytes)
{
	struct perf_config c = h->config;
	struct event_set fresh = {0};
	struct event_target t = on_cpus(h, &c);
	int r;

	c.stack_bytes = stack_bytes;
	r = event_set_open_cpus(&fresh, &t);
	if (r < 0) {
		event_set_done(&fresh);
		return r;
	}
	replace(h, &fresh);
	h->config = c;
	return 0;
}

bool host_events_lost(const struct host_events *h, uint64_t *ret)
{
	if (!(h->config.features & PERF_CAN_COUNT_LOST))
		return false;
	*ret = h->lost_before;
	event_set_read_lost(&h->set, ret);
	return true;
}
