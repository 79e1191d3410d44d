#include "sampler/daemon/host/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/closing/closing.h"
#include "sampler/daemon/host/fair.h"
#include "sampler/daemon/host/look_when.h"
#include "sampler/inspect/each_process.h"
#include "sampler/inspect/inspect.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

#define SECOND_NS UINT64_C(1000000000)
#define ANY_NS (3 * SECOND_NS)
#define MISSED_NS (60 * SECOND_NS) /* how long after scan_any() others are not relied on to tell */
enum { ANY_MAX = 64 };
#define PATIENCE_NS SECOND_NS /* for one turn; the rest is left to the next one */
#define LAST_NS                                                                                                        \
	(60 * SECOND_NS) /* how long a user comes last after one of their processes could not be examined in time */

struct seen {
	struct proc_entry entry;
	int64_t owner;
	bool known; /* not to be looked at */
	bool refused; /* by scan_found_fn(), for the time being: nobody tells of it again */
	struct look_when when; /* to look at it again */
};

struct slow {
	int64_t owner;
	uint64_t until_ns;
};

struct scan {
	VEC(struct seen) all; /* by PID */
	VEC(struct fair) due;
	VEC(pid_t) next; /* to be examined in this turn */
	VEC(int64_t) owners; /* of those */
	VEC(struct slow) slow;
	uint64_t now_ns;
	bool told; /* scan_told(), */
	uint64_t missed_ns; /* but not of all until then */
	bool any; /* scan_any(), not before any_ns */
	uint64_t any_ns;
	scan_found_fn *found;
	void *ctx;
};

struct scan *scan_new(void)
{
	return calloc(1, sizeof(struct scan));
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	vec_done(&s->all);
	vec_done(&s->due);
	vec_done(&s->next);
	vec_done(&s->owners);
	vec_done(&s->slow);
	free(s);
}

/* --- the list of processes --- */

static int by_pid(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return ascending(x->entry.pid, y->entry.pid);
}

static struct seen *find(const struct scan *s, pid_t pid)
{
	const struct seen key = {.entry.pid = pid};

	return s->all.n ? bsearch(&key, s->all.v, s->all.n, sizeof(key), by_pid) : NULL;
}

/* What is known about a process; another process under the same PID is new. */
static struct seen take_over(const struct scan *s, const struct proc_entry *now)
{
	const struct seen *before = find(s, now->pid);

	if (before && before->entry.id == now->id)
		return *before;
	return (struct seen){.entry = *now, .owner = each_process_owner(now->pid), .when.looked_ns = s->now_ns};
}

static int list_processes(struct scan *s, struct err *err)
{
	CLEANUP(free_at_exit) struct proc_entry *entries = NULL;
	size_t n, i = 0;
	int r = proc_entries(&entries, &n);
	typeof(s->all) now = {0};

	if (r < 0)
		return err_set(err, r, "cannot list the processes in /proc: %s", strerror(-r));
	while (i < n && vec_push(&now, take_over(s, &entries[i])))
		i++;
	if (i < n) {
		vec_done(&now);
		return err_set(err, -ENOMEM, "out of memory");
	}
	vec_done(&s->all);
	s->all = now;
	if (n)
		qsort(s->all.v, n, sizeof(*s->all.v), by_pid);
	return 0;
}

/* --- whose turn it is --- */

static bool is_slow(const struct scan *s, int64_t owner)
{
	for (size_t i = 0; i < s->slow.n; i++)
		if (s->slow.v[i].owner == owner)
			return true;
	return false;
}

static void forgive(struct scan *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->slow.n; i++)
		if (s->slow.v[i].until_ns > s->now_ns)
			s->slow.v[n++] = s->slow.v[i];
	s->slow.n = n;
}

static bool is_told(const struct scan *s, const struct seen *p)
{
	return s->told && s->now_ns >= s->missed_ns && !p->refused;
}

/* Until then a look waits, to share a child with others. */
static bool is_time(const struct scan *s)
{
	for (size_t i = 0; i < s->all.n; i++) {
		const struct seen *p = &s->all.v[i];

		if (!p->known && look_when_latest(&p->when, is_told(s, p)) <= s->now_ns)
			return true;
	}
	return false;
}

/* Those whose time has come; early: some of those whose time has not. */
static bool add(struct scan *s, bool early, size_t max)
{
	s->due.n = 0;
	for (size_t i = 0; i < s->all.n; i++) {
		const struct seen *p = &s->all.v[i];
		uint64_t next_ns = look_when_next(&p->when, is_told(s, p)),
			 since_ns = early ? p->when.looked_ns : next_ns;
		const struct fair due = {p->entry.pid, p->owner, since_ns, is_slow(s, p->owner), 0};

		if (!p->known && (next_ns > s->now_ns) == early && !vec_push(&s->due, due))
			return false;
	}
	fair_order(s->due.v, s->due.n);
	for (size_t i = 0; i < s->due.n && i < max; i++)
		if (!vec_push(&s->next, s->due.v[i].pid) || !vec_push(&s->owners, s->due.v[i].owner))
			return false;
	return true;
}

static bool choose(struct scan *s, bool any)
{
	s->next.n = s->owners.n = 0;
	forgive(s);
	if (!any && !is_time(s))
		return true;
	return add(s, false, SIZE_MAX) && (!any || add(s, true, ANY_MAX));
}

/* --- looking --- */

/* Always reports something, so that the caller knows which processes were examined. */
static bool look(void *ctx, pid_t pid, void *record, struct err *failed)
{
	struct inspect_outline *o = record;

	(void)ctx, (void)failed;
	if (inspect_outline(pid, o) < 0)
		o->may_be_jvm = false;
	return true;
}

static void looked(void *ctx, pid_t pid, const void *record)
{
	struct scan *s = ctx;
	struct seen *p = find(s, pid);
	struct inspect_outline o;
	struct scan_found f = {.pid = pid};
	struct proc *proc;
	bool known;

	memcpy(&o, record, sizeof(o));
	if (p) {
		p->refused = o.may_be_jvm;
		look_when_done(&p->when, s->now_ns, is_told(s, p));
	}
	if (!o.may_be_jvm || proc_open(pid, &proc, NULL) < 0)
		return;
	f.start_ticks = proc_start_ticks(proc);
	f.uid = o.uid;
	f.in_namespace = !proc_same_ns(proc, "user");
	proc_close(proc);
	known = s->found(s->ctx, &f);
	if (p)
		p->known = known;
}

/*
 * It is examined again in a later turn. Each such process takes a whole turn, so its user's processes come last for a
 * while.
 */
static void stuck(void *ctx, pid_t pid, int signal)
{
	struct scan *s = ctx;
	struct seen *p = find(s, pid);

	(void)signal;
	if (!p)
		return;
	look_when_done(&p->when, s->now_ns, is_told(s, p));
	if (!is_slow(s, p->owner))
		(void)vec_push(&s->slow, ((struct slow){p->owner, s->now_ns + LAST_NS}));
}

void scan_again(struct scan *s, pid_t pid)
{
	struct seen *p = find(s, pid);

	if (!p)
		return;
	p->known = false;
	p->when.delay_ns = 0;
}

void scan_told(struct scan *s, bool told)
{
	s->told = told;
}

void scan_any(struct scan *s)
{
	s->any = true;
	s->missed_ns = clock_monotonic_ns() + MISSED_NS;
}

int scan_turn(struct scan *s, scan_found_fn *found, void *ctx, struct err *err)
{
	struct each_process e = {.ctx = s,
				 .record = sizeof(struct inspect_outline),
				 .begin = closing_for_names,
				 .look = look,
				 .found = looked,
				 .stuck = stuck};
	size_t left = 0;
	bool any;
	int r;

	s->now_ns = clock_monotonic_ns();
	any = s->any && s->now_ns >= s->any_ns;
	s->found = found;
	s->ctx = ctx;
	r = list_processes(s, err);
	if (r < 0)
		return r;
	if (!choose(s, any))
		return err_set(err, -ENOMEM, "out of memory");
	e.owners = s->owners.v;
	e.deadline_ns = clock_monotonic_ns() + PATIENCE_NS;
	r = s->next.n ? each_process(s->next.v, s->next.n, &e, &left, err) : 0;
	if (any && r == 0) {
		s->any = left > 0; /* some of them were not reached */
		s->any_ns = s->now_ns + ANY_NS;
	}
	return r < 0 ? r : left > 0 || s->any;
}
