#include "sampler/engine/perf/events/shared_events.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/engine/cpu_list.h"
#include "sampler/engine/perf/events/event_set.h"
#include "sampler/engine/perf/events/perf_attach_priv.h"
#include "sampler/engine/perf/events/perf_filter.h"
#include "sampler/engine/perf/rings/perf_ring.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"

enum {
	INBOX_BYTES = 8 << 20, /* 64 KiB copies of 60 ms at 999 Hz on two CPUs; pages take memory once they are used */
	RING_LEAST = 64 << 10,
	STAGGER_NS = 10000000, /* at most, over all CPUs */
	NONE = -1,
};

/* The events with one size of stack copies. Disabled while they have no members. */
struct sized {
	uint32_t stack_bytes;
	struct perf_filter filter;
	struct event_set set;
	size_t members;
};

struct shared_member {
	struct shared_events *owner;
	pid_t pid;
	int joined; /* index into `sized`, or NONE */
	struct sample_queue *inbox; /* filled under the owner's lock */
	_Atomic uint64_t lost;
};

struct shared_events {
	struct perf_config config;
	struct perf_layout layout;
	int *cpus;
	size_t n_cpus;
	struct perf_ring *rings;
	int *fds; /* the event that owns each ring */
	struct sized sized[SHARED_SIZES];
	size_t n_sized;
	pthread_mutex_t lock; /* for everything that follows, and for reading the rings */
	VEC(struct shared_member *) members;
	uint64_t lost; /* told by the rings, and not counted for a member yet */
	size_t ring; /* that is being read */
};

/* --- opening */

static int open_ring(struct shared_events *s, size_t i)
{
	size_t bytes = attach_ring_size(&s->config);
	struct perf_event_attr attr;
	int r;

	s->config.wakeup_bytes = (uint32_t)bytes / 4;
	perf_attr_leader(&s->config, false, &attr);
	s->fds[i] = perf_open(&attr, -1, s->cpus[i], -1);
	if (s->fds[i] < 0)
		return s->fds[i];
	do
		r = perf_ring_open(&s->rings[i], s->fds[i], bytes);
	while ((r == -EPERM || r == -ENOMEM) && (bytes /= 2) >= RING_LEAST);
	if (r == 0)
		ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0);
	return r;
}

static int open_rings(struct shared_events *s)
{
	int r = 0;

	s->rings = calloc(s->n_cpus, sizeof(*s->rings));
	s->fds = malloc(s->n_cpus * sizeof(*s->fds));
	if (!s->rings || !s->fds)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_cpus; i++)
		s->fds[i] = -1;
	for (size_t i = 0; r == 0 && i < s->n_cpus; i++)
		r = open_ring(s, i);
	return r;
}

static struct event_target target_of(const struct shared_events *s, const struct sized *z, const struct perf_config *c)
{
	uint64_t all_ns = c->period < STAGGER_NS ? c->period : STAGGER_NS;

	return (struct event_target){
		.config = c,
		.cpus = s->cpus,
		.ring_fds = s->fds,
		.n_cpus = s->n_cpus,
		.filter_fd = z->filter.fd,
		.stagger_ns = all_ns / s->n_cpus,
	};
}

static int open_sized(struct shared_events *s, struct sized *z)
{
	struct perf_config c = s->config;
	struct event_target t;
	int r = perf_filter_open_many(&z->filter);

	if (r < 0)
		return r;
	c.stack_bytes = z->stack_bytes;
	t = target_of(s, z, &c);
	return event_set_open_cpus(&z->set, &t);
}

static int open_all(struct shared_events *s)
{
	int r = cpu_list_online(&s->cpus, &s->n_cpus);

	if (r == 0)
		r = perf_attr_probe(&s->config, -1, s->cpus[0]);
	if (r == 0)
		r = open_rings(s);
	for (size_t i = 0; r == 0 && i < s->n_sized; i++)
		r = open_sized(s, &s->sized[i]);
	s->layout = perf_attr_layout(&s->config);
	return r;
}

int shared_events_open(const struct perf_config *c, const uint32_t *sizes, size_t n, struct shared_events **ret,
		       struct err *err)
{
	struct shared_events *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->config = *c;
	s->config.sideband_apart = true;
	pthread_mutex_init(&s->lock, NULL);
	for (s->n_sized = 0; s->n_sized < n && s->n_sized < SHARED_SIZES; s->n_sized++) {
		s->sized[s->n_sized].stack_bytes = sizes[s->n_sized];
		s->sized[s->n_sized].filter.fd = -1;
	}
	r = open_all(s);
	if (r < 0)
		shared_events_close(s);
	else
		*ret = s;
	return r < 0 ? err_set(err, r, "one set of perf events for all targets is not possible here: %s",
			       strerror(-r)) :
		       0;
}

void shared_events_close(struct shared_events *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_sized; i++) {
		event_set_done(&s->sized[i].set);
		perf_filter_close(&s->sized[i].filter);
	}
	for (size_t i = 0; s->rings && s->fds && i < s->n_cpus; i++) {
		perf_ring_close(&s->rings[i]);
		close_at_exit(&s->fds[i]);
	}
	pthread_mutex_destroy(&s->lock);
	vec_done(&s->members);
	free(s->rings);
	free(s->fds);
	free(s->cpus);
	free(s);
}

const int *shared_events_poll_fds(const struct shared_events *s)
{
	return s->fds;
}

/* --- from the rings to the inboxes */

static struct shared_member *find_member(const struct shared_events *s, pid_t pid)
{
	for (size_t i = 0; i < s->members.n; i++)
		if (s->members.v[i]->pid == pid)
			return s->members.v[i];
	return NULL;
}

static void put(const struct shared_events *s, struct shared_member *m, uint64_t time_ns, const void *bytes, size_t len)
{
	struct shared_record *r = sample_queue_reserve(m->inbox, sizeof(*r) + len);

	if (!r) {
		m->lost++;
		return;
	}
	*r = (struct shared_record){.time_ns = time_ns, .ring = (uint32_t)s->ring, .len = (uint32_t)len};
	memcpy(r + 1, bytes, len);
	sample_queue_commit(m->inbox, sizeof(*r) + len);
}

/* Whoever has the sample after a gap had, most likely, those in it. */
static int sort_record(void *ctx, const void *bytes, size_t len)
{
	struct shared_events *s = ctx;
	struct shared_member *m;
	struct perf_record r;

	if (perf_record_parse(&s->layout, bytes, len, &r) < 0)
		return 0;
	if (r.kind == PERF_REC_LOST)
		s->lost += r.lost;
	if (r.kind == PERF_REC_THROTTLE && s->members.n)
		put(s, s->members.v[0], r.time, bytes, len);
	m = r.kind == PERF_REC_SAMPLE ? find_member(s, r.pid) : NULL;
	if (!m)
		return 0;
	m->lost += s->lost;
	s->lost = 0;
	put(s, m, r.time, bytes, len);
	return 0;
}

void shared_events_pull(struct shared_events *s)
{
	pthread_mutex_lock(&s->lock);
	for (s->ring = 0; s->ring < s->n_cpus; s->ring++)
		perf_ring_drain(&s->rings[s->ring], sort_record, s);
	pthread_mutex_unlock(&s->lock);
}

/* --- members */

int shared_member_new(struct shared_events *s, pid_t pid, const struct perf_config *c, const int *cpus, size_t n_cpus,
		      struct shared_member **ret)
{
	struct shared_member *m;
	bool ok;

	if (perf_attr_layout(c).sample_type != s->layout.sample_type || c->period != s->config.period ||
	    c->exclude_kernel != s->config.exclude_kernel || n_cpus != s->n_cpus ||
	    memcmp(cpus, s->cpus, n_cpus * sizeof(*cpus)) != 0)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = (struct shared_member){.owner = s, .pid = pid, .joined = NONE, .inbox = sample_queue_new(INBOX_BYTES)};
	pthread_mutex_lock(&s->lock);
	ok = m->inbox && vec_push(&s->members, m);
	pthread_mutex_unlock(&s->lock);
	if (ok) {
		*ret = m;
		return 0;
	}
	if (m->inbox)
		sample_queue_free(m->inbox);
	free(m);
	return -ENOMEM;
}

void shared_member_free(struct shared_member *m)
{
	struct shared_events *s;
	size_t kept = 0;

	if (!m)
		return;
	s = m->owner;
	shared_member_leave(m);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->members.n; i++)
		if (s->members.v[i] != m)
			s->members.v[kept++] = s->members.v[i];
	s->members.n = kept;
	pthread_mutex_unlock(&s->lock);
	sample_queue_free(m->inbox);
	free(m);
}

static int index_of(const struct shared_events *s, uint32_t stack_bytes)
{
	for (size_t i = 0; i < s->n_sized; i++)
		if (s->sized[i].stack_bytes == stack_bytes)
			return (int)i;
	return NONE;
}

bool shared_member_can_join(const struct shared_member *m, uint32_t stack_bytes)
{
	return index_of(m->owner, stack_bytes) != NONE;
}

/* The events run before the process is let in, because enabling them takes up to a period. */
static void let_in(struct shared_events *s, struct sized *z, pid_t pid)
{
	struct event_target t = target_of(s, z, &s->config);

	if (z->members++ == 0)
		event_set_enable(&z->set, &t);
	perf_filter_member(&z->filter, pid, true);
}

static void let_out(struct sized *z, pid_t pid)
{
	perf_filter_member(&z->filter, pid, false);
	if (--z->members == 0)
		event_set_disable(&z->set);
}

static void move(struct shared_member *m, int to)
{
	struct shared_events *s = m->owner;
	int from = m->joined;

	if (from == to)
		return;
	pthread_mutex_lock(&s->lock);
	if (to != NONE)
		let_in(s, &s->sized[to], m->pid);
	if (from != NONE)
		let_out(&s->sized[from], m->pid);
	m->joined = to;
	pthread_mutex_unlock(&s->lock);
}

void shared_member_join(struct shared_member *m, uint32_t stack_bytes)
{
	move(m, index_of(m->owner, stack_bytes));
}

void shared_member_leave(struct shared_member *m)
{
	move(m, NONE);
}

void shared_member_skip(const struct shared_member *m, pid_t tid, bool skip)
{
	for (size_t i = 0; i < m->owner->n_sized; i++) {
		const struct perf_filter *f = &m->owner->sized[i].filter;

		if (skip)
			perf_filter_skip(f, tid);
		else
			perf_filter_unskip(f, tid);
	}
}

const struct shared_record *shared_member_peek(struct shared_member *m)
{
	size_t len;

	return sample_queue_peek(m->inbox, &len);
}

void shared_member_release(struct shared_member *m)
{
	sample_queue_release(m->inbox);
}

uint64_t shared_member_lost(const struct shared_member *m)
{
	return m->lost;
}
