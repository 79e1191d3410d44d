#include "sampler/engine/perf/events/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/target/proc.h"

/* Records of one moment are all read within this time, whichever rings they are in. */
#define LATE_NS UINT64_C(1000000000)
/* A fork may be recorded in two rings, with slightly different times. */
#define TWICE_NS UINT64_C(100000000)
/* How often all of FAMILY_MAX are asked whether they have ended: not for each fork that finds no room. */
#define SWEEP_NS UINT64_C(10000000)

struct family_member *family_find(const struct family *f, pid_t pid)
{
	struct family_member *k;

	HASH_FIND_INT(f->by_pid, &pid, k);
	return k;
}

bool family_has(const struct family *f, pid_t pid)
{
	return pid == proc_pid(f->target) || family_find(f, pid);
}

bool family_is_empty(const struct family *f)
{
	return !f->by_pid;
}

size_t family_count(const struct family *f)
{
	return HASH_COUNT(f->by_pid);
}

/* When `pid` was last noted to have ended; NULL: never. */
static const uint64_t *ended_ns(const struct family *f, pid_t pid)
{
	const uint64_t *last = NULL;

	for (size_t i = 0; i < FAMILY_ENDED; i++)
		if (f->ended[i].pid == pid && (!last || f->ended[i].time_ns > *last))
			last = &f->ended[i].time_ns;
	return last;
}

bool family_knows(const struct family *f, pid_t pid, uint64_t time_ns)
{
	const uint64_t *ended;

	if (family_has(f, pid))
		return true;
	ended = ended_ns(f, pid);
	return ended && *ended + LATE_NS > time_ns;
}

static void note_ended(struct family *f, pid_t pid, uint64_t time_ns)
{
	f->ended[f->next_ended++ % FAMILY_ENDED] = (struct family_fork){.pid = pid, .time_ns = time_ns};
}

/* Called again for each sample of a process that cannot be followed. */
static void count_missed(struct family *f, pid_t pid, bool brief)
{
	if (!ended_ns(f, pid))
		*(brief ? &f->brief : &f->refused) += 1;
}

static void member_free(struct family_member *k)
{
	stack_rest_done(&k->rest);
	proc_close(k->proc);
	free(k);
}

static void drop(struct family *f, struct family_member *k, uint64_t now_ns)
{
	HASH_DEL(f->by_pid, k);
	note_ended(f, k->pid, now_ns);
	if (f->left)
		f->left(f->ctx, k);
	member_free(k);
}

void family_sweep(struct family *f, uint64_t now_ns)
{
	struct family_member *k, *next;

	HASH_ITER(hh, f->by_pid, k, next)
	if (!proc_alive(k->proc))
		drop(f, k, now_ns);
}

static bool has_room(struct family *f, uint64_t now_ns)
{
	if (HASH_COUNT(f->by_pid) >= FAMILY_MAX && now_ns - f->swept_ns >= SWEEP_NS) {
		f->swept_ns = now_ns;
		family_sweep(f, now_ns);
	}
	return HASH_COUNT(f->by_pid) < FAMILY_MAX;
}

/* A process that cannot be opened has usually ended. What it started still belongs to the family. */
static void add_member(struct family *f, pid_t pid, uint64_t time_ns)
{
	struct family_member *k = has_room(f, time_ns) ? calloc(1, sizeof(*k)) : NULL;
	int r = k ? proc_open(pid, &k->proc, NULL) : -ENOMEM;

	if (r == 0) {
		k->pid = pid;
		k->rest.proc = k->proc;
		k->rest.memory = f->memory;
		HASH_ADD_INT(f->by_pid, pid, k);
	}
	if (r < 0 || !k->hh.tbl) {
		if (k)
			proc_close(k->proc);
		free(k);
		count_missed(f, pid, r == -ESRCH);
		note_ended(f, pid, time_ns + TWICE_NS);
		return;
	}
	f->followed++;
	f->last_ns = time_ns;
	if (f->joined)
		f->joined(f->ctx, k);
}

/* The earliest fork by a member that was not yet known to be one. */
static bool take_early(struct family *f, struct family_fork *ret)
{
	for (size_t i = 0; i < FAMILY_EARLY; i++) {
		struct family_fork *e = &f->early[i];

		if (!e->pid || !(family_knows(f, e->parent, e->time_ns)))
			continue;
		*ret = *e;
		e->pid = 0;
		return true;
	}
	return false;
}

void family_add(struct family *f, pid_t pid, uint64_t time_ns)
{
	const uint64_t *ended;
	struct family_fork early;

	if (family_has(f, pid))
		return;
	ended = ended_ns(f, pid);
	if (ended && *ended >= time_ns) /* the same fork, reported twice */
		return;
	add_member(f, pid, time_ns);
	while (take_early(f, &early))
		if (!family_has(f, early.pid))
			add_member(f, early.pid, early.time_ns);
}

void family_forked(struct family *f, pid_t parent, pid_t pid, uint64_t time_ns)
{
	struct family_member *old = family_find(f, pid);

	/* The PID was reused, or the fork was recorded twice. */
	if (old && proc_alive(old->proc))
		return;
	if (old)
		drop(f, old, time_ns);
	if (family_knows(f, parent, time_ns))
		family_add(f, pid, time_ns);
	else
		f->early[f->next_early++ % FAMILY_EARLY] = (struct family_fork){parent, pid, time_ns};
}

void family_scan(struct family *f, uint64_t now_ns)
{
	pid_t *pids;
	size_t n;

	if (proc_descendants(f->target, &pids, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		family_add(f, pids[i], now_ns);
	free(pids);
}

static int append(pid_t **all, size_t *n_all, pid_t *more, size_t n)
{
	pid_t *grown = reallocarray(*all, *n_all + n, sizeof(*grown));

	if (grown) {
		memcpy(grown + *n_all, more, n * sizeof(*grown));
		*all = grown;
		*n_all += n;
	}
	free(more);
	return grown ? 0 : -ENOMEM;
}

int family_tasks(const struct family *f, pid_t **ret, size_t *ret_n)
{
	pid_t *all, *more;
	size_t n_all, n;
	int r = proc_tasks(f->target, &all, &n_all);

	if (r == -ESRCH && f->by_pid) { /* the target has ended before the processes that it started */
		all = NULL;
		n_all = 0;
		r = 0;
	}
	for (const struct family_member *k = f->by_pid; r == 0 && k; k = k->hh.next)
		if (proc_tasks(k->proc, &more, &n) == 0)
			r = append(&all, &n_all, more, n);
	if (r == 0 && !n_all)
		r = -ESRCH;
	if (r < 0) {
		free(all);
		return r;
	}
	*ret = all;
	*ret_n = n_all;
	return 0;
}

void family_done(struct family *f)
{
	struct family_member *k, *next;

	HASH_ITER(hh, f->by_pid, k, next)
	{
		HASH_DEL(f->by_pid, k);
		member_free(k);
	}
}
