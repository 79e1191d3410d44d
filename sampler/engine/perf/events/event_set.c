#include "sampler/engine/perf/events/event_set.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/perf/copies/thread_stacks.h"
#include "sampler/engine/perf/events/family.h"
#include "symbolizer/target/proc.h"

/*
 * A process may start threads faster than they can be listed. Those started by attached threads have inherited events:
 * only threads whose parents started meanwhile, too, may lack them. So giving up soon loses little, while events on
 * threads that have inherited some take long to open, and do not report what is left over when the thread ends.
 */
enum { LISTINGS_MAX = 4, DRAIN_EVERY = 32 };

static void drain_meanwhile(const struct event_target *t)
{
	if (t->drain)
		t->drain(t->drain_ctx);
}

static int add_event(struct event_set *s, const struct event_target *t, struct perf_event_attr *attr, pid_t tid,
		     uint32_t cpu)
{
	int fd = perf_open(attr, tid, t->cpus[cpu], tid < 0 ? t->filter_fd : -1);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, t->ring_fds[cpu]) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	if (!vec_push(&s->events, ((struct event_fd){fd, cpu, tid}))) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

int event_set_open_cpus(struct event_set *s, const struct event_target *t)
{
	struct perf_event_attr attr;

	perf_attr_sampling(t->config, false, &attr);
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		uint64_t id;
		int fd = add_event(s, t, &attr, -1, i);

		if (fd < 0)
			return fd;
		if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
			return -errno;
		if (!vec_push(&s->cpu_ids, id))
			return -ENOMEM;
	}
	return 0;
}

static int open_thread(struct event_set *s, const struct event_target *t, pid_t tid, bool suspect, bool enable)
{
	struct perf_event_attr attr;

	perf_attr_sampling(t->config, true, &attr);
	if (t->stacks)
		attr.sample_stack_user = thread_stacks_size(t->stacks, tid, t->config->stack_bytes);
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		struct event_suspect sus = {.tid = tid};
		int fd = add_event(s, t, &attr, tid, i);

		if (fd < 0)
			return fd;
		if (suspect && ioctl(fd, PERF_EVENT_IOC_ID, &sus.id) == 0 && !vec_push(&s->suspects, sus))
			return -ENOMEM;
		if (enable)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

static int open_fixed_thread(struct event_set *s, const struct event_target *t, pid_t tid)
{
	struct event_fixed f = {.tid = tid};
	struct perf_event_attr attr;
	int r = proc_ns_tid(t->proc, tid, &f.ns_tid);

	if (r < 0)
		return r;
	perf_attr_sampling(t->config, true, &attr);
	attr.inherit = attr.inherit_thread = 0;
	for (uint32_t i = 0; i < t->n_cpus; i++) {
		r = add_event(s, t, &attr, tid, i);
		if (r < 0)
			return r;
	}
	return vec_push(&s->fixed, f) ? 0 : -ENOMEM;
}

int event_set_open_fixed(struct event_set *s, const struct event_target *t)
{
	uint64_t age;
	pid_t *tids;
	size_t n;
	int r = proc_tasks(t->proc, &tids, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r >= 0; i++) {
		drain_meanwhile(t);
		if (proc_thread_age_ns(t->proc, tids[i], &age) < 0 || age < EVENT_FIXED_NS)
			continue;
		r = open_fixed_thread(s, t, tids[i]);
		if (r == -ESRCH)
			r = 0; /* it ended */
	}
	free(tids);
	return r;
}

static int compare_tids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

bool event_set_knows(const struct event_set *s, pid_t tid)
{
	return s->n_known && bsearch(&tid, s->known, s->n_known, sizeof(tid), compare_tids);
}

/* Attaches to the new threads among `tids`, and keeps that list as the known threads. */
static int open_new_threads(struct event_set *s, const struct event_target *t, pid_t *tids, size_t n, bool enable,
			    bool *ret_any)
{
	bool first = !s->n_known;
	int r = 0;

	*ret_any = false;
	qsort(tids, n, sizeof(*tids), compare_tids);
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (event_set_knows(s, tids[i]))
			continue;
		*ret_any = true;
		drain_meanwhile(t);
		/* Threads of the first listing had no event to inherit. */
		r = open_thread(s, t, tids[i], !first, enable);
		if (r == -ESRCH || (t->family && (r == -EACCES || r == -EPERM)))
			r = 0; /* it ended, or its process belongs to another user now */
	}
	free(s->known);
	s->known = tids;
	s->n_known = n;
	return r;
}

int event_set_open_threads(struct event_set *s, const struct event_target *t, bool enable)
{
	for (int i = 0; i < LISTINGS_MAX; i++) {
		pid_t *tids;
		size_t n;
		bool any;
		int r = t->family ? family_tasks(t->family, &tids, &n) : proc_tasks(t->proc, &tids, &n);

		if (r < 0)
			return r;
		r = open_new_threads(s, t, tids, n, enable, &any);
		if (r < 0)
			return r;
		if (!any)
			break;
	}
	return s->events.n ? 0 : -ESRCH;
}

void event_stagger(const struct event_target *t)
{
	const struct timespec pause = {.tv_nsec = (long)t->stagger_ns};

	if (t->stagger_ns)
		nanosleep(&pause, NULL);
}

void event_set_enable(const struct event_set *s, const struct event_target *t)
{
	for (size_t i = 0; i < s->events.n; i++) {
		ioctl(s->events.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		event_stagger(t);
		if (i % DRAIN_EVERY == 0)
			drain_meanwhile(t);
	}
}

void event_set_disable(const struct event_set *s)
{
	for (size_t i = 0; i < s->events.n; i++)
		ioctl(s->events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t event_lost(const struct event_fd *e)
{
	uint64_t v[2]; /* read_format: the value, the number of lost records */

	return read(e->fd, v, sizeof(v)) == sizeof(v) ? v[1] : 0;
}

void event_set_read_lost(const struct event_set *s, uint64_t *sum)
{
	for (size_t i = 0; i < s->events.n; i++)
		*sum += event_lost(&s->events.v[i]);
}

uint64_t event_counted(const struct event_fd *e)
{
	uint64_t v[2];

	return read(e->fd, v, sizeof(v)) >= (ssize_t)sizeof(v[0]) ? v[0] : 0;
}

void event_set_done(struct event_set *s)
{
	for (size_t i = 0; i < s->events.n; i++)
		close(s->events.v[i].fd);
	vec_done(&s->events);
	vec_done(&s->suspects);
	vec_done(&s->fixed);
	vec_done(&s->cpu_ids);
	free(s->known);
	*s = (struct event_set){0};
}
