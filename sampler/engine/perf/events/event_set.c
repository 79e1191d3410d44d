#include "sampler/engine/perf/events/event_set.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/perf/copies/thread_stacks.h"
#include "sampler/engine/perf/events/family.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/target/deputy.h"
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

/* --- Events that are opened together */

struct batch {
	struct event_set *set;
	const struct event_target *t;
	struct perf_event_attr attr;
	bool suspect; /* the threads may have inherited events */
	bool enable;
	size_t n;
	struct event_place places[EVENT_PLACES_MAX];
	uint32_t cpus[EVENT_PLACES_MAX]; /* indices into the target's CPUs */
};

static struct batch batch_begin(struct event_set *s, const struct event_target *t, bool per_thread)
{
	struct batch b = {.set = s, .t = t};

	perf_attr_sampling(t->config, per_thread, &b.attr);
	return b;
}

/* Consumes fd. */
static int add_event(struct batch *b, size_t i, int fd)
{
	const struct event_place *p = &b->places[i];
	struct event_suspect sus = {.tid = p->tid};
	struct event_set *s = b->set;
	uint64_t id;

	if (!vec_push(&s->events, ((struct event_fd){fd, b->cpus[i], p->tid}))) {
		close(fd);
		return -ENOMEM;
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, b->t->ring_fds[b->cpus[i]]) < 0)
		return -errno;
	if (p->tid < 0 && ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -errno;
	if (p->tid < 0 && !vec_push(&s->cpu_ids, id))
		return -ENOMEM;
	if (b->suspect && ioctl(fd, PERF_EVENT_IOC_ID, &sus.id) == 0 && !vec_push(&s->suspects, sus))
		return -ENOMEM;
	if (b->enable)
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

static int add_events(struct batch *b, size_t from, const int *fds, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		if (r < 0)
			close(fds[i]);
		else
			r = add_event(b, from + i, fds[i]);
	}
	return r;
}

static void forget_fixed(struct event_set *s, pid_t tid)
{
	for (size_t i = s->fixed.n; i-- > 0;)
		if (s->fixed.v[i].tid == tid)
			s->fixed.v[i] = s->fixed.v[--s->fixed.n];
}

/* It has ended, or its process belongs to another user now. */
static bool may_be_left_out(const struct batch *b, pid_t tid, int r)
{
	return tid > 0 && (r == -ESRCH || (b->t->family && (r == -EACCES || r == -EPERM)));
}

static size_t after_thread(const struct batch *b, size_t i)
{
	pid_t tid = b->places[i].tid;

	while (i < b->n && b->places[i].tid == tid)
		i++;
	return i;
}

static int batch_open(struct batch *b)
{
	int fds[EVENT_PLACES_MAX], r = 0;
	size_t i = 0, opened;

	while (r == 0 && i < b->n) {
		int failed;

		drain_meanwhile(b->t);
		failed = perf_open_places(&b->attr, &b->places[i], b->n - i, b->t->filter_fd, fds, &opened);
		r = add_events(b, i, fds, opened);
		i += opened;
		if (r < 0 || failed == 0)
			continue;
		r = may_be_left_out(b, b->places[i].tid, failed) ? 0 : failed;
		forget_fixed(b->set, b->places[i].tid);
		i = after_thread(b, i);
	}
	b->n = 0;
	return r;
}

/* An event on each CPU. tid -1: of all threads there. */
static int batch_add(struct batch *b, pid_t tid, uint32_t stack_bytes)
{
	int r = 0;

	for (uint32_t i = 0; i < b->t->n_cpus && r == 0; i++) {
		b->cpus[b->n] = i;
		b->places[b->n++] = (struct event_place){tid, b->t->cpus[i], stack_bytes};
		if (b->n == EVENT_PLACES_MAX)
			r = batch_open(b);
	}
	return r;
}

/* --- Sets */

int event_set_open_cpus(struct event_set *s, const struct event_target *t)
{
	struct batch b = batch_begin(s, t, false);
	int r = batch_add(&b, -1, t->config->stack_bytes);

	return r < 0 ? r : batch_open(&b);
}

static uint32_t stack_bytes_of(const struct event_target *t, pid_t tid)
{
	return t->stacks ? thread_stacks_size(t->stacks, tid, t->config->stack_bytes) : t->config->stack_bytes;
}

static int add_fixed_thread(struct batch *b, pid_t tid)
{
	struct event_fixed f = {.tid = tid};
	int r = proc_ns_tid(b->t->proc, tid, &f.ns_tid);

	if (r == -ESRCH)
		return 0; /* it ended */
	if (r < 0)
		return r;
	if (!vec_push(&b->set->fixed, f))
		return -ENOMEM;
	return batch_add(b, tid, stack_bytes_of(b->t, tid));
}

int event_set_open_fixed(struct event_set *s, const struct event_target *t)
{
	struct batch b = batch_begin(s, t, true);
	uint64_t age;
	pid_t *tids;
	size_t n;
	int r = proc_tasks(t->proc, &tids, &n);

	if (r < 0)
		return r;
	b.attr.inherit = b.attr.inherit_thread = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		drain_meanwhile(t);
		if (proc_thread_age_ns(t->proc, tids[i], &age) == 0 && age >= EVENT_FIXED_NS)
			r = add_fixed_thread(&b, tids[i]);
	}
	free(tids);
	return r < 0 ? r : batch_open(&b);
}

static int compare_tids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return ascending(x, y);
}

bool event_set_knows(const struct event_set *s, pid_t tid)
{
	return s->n_known && bsearch(&tid, s->known, s->n_known, sizeof(tid), compare_tids);
}

/* Attaches to the new threads among `tids`, and keeps that list as the known threads. */
static int open_new_threads(struct event_set *s, const struct event_target *t, pid_t *tids, size_t n, bool enable,
			    bool *ret_any)
{
	struct batch b = batch_begin(s, t, true);
	int r = 0;

	b.suspect = s->n_known > 0; /* threads of the first listing had no event to inherit */
	b.enable = enable;
	*ret_any = false;
	qsort(tids, n, sizeof(*tids), compare_tids);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (event_set_knows(s, tids[i]))
			continue;
		*ret_any = true;
		r = batch_add(&b, tids[i], stack_bytes_of(t, tids[i]));
	}
	if (r == 0)
		r = batch_open(&b);
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
