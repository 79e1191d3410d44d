#include "sampler/daemon/host/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/closing/closing.h"
#include "sampler/inspect/each_process.h"
#include "sampler/inspect/inspect.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

#define SECOND_NS UINT64_C(1000000000)
#define DELAY_MAX_NS (32 * SECOND_NS)
#define PATIENCE_NS (3 * SECOND_NS) /* for the new processes of one turn; the others come with the next one */

struct seen {
	pid_t pid;
	uint64_t next_ns, delay_ns; /* when to look again */
};

struct list {
	VEC(struct seen) of; /* by PID */
};

struct scan {
	struct list all;
	VEC(pid_t) next; /* to be looked at in this turn */
	void (*found)(void *ctx, const struct scan_found *f);
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
	vec_done(&s->all.of);
	vec_done(&s->next);
	free(s);
}

/* --- the list of processes --- */

static int by_pid(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int list_read(struct list *ret, struct err *err)
{
	CLEANUP(free_at_exit) pid_t *pids = NULL;
	size_t n;
	int r = proc_others(&pids, &n);

	if (r < 0)
		return err_set(err, r, "cannot list the processes in /proc: %s", strerror(-r));
	for (size_t i = 0; i < n; i++)
		if (!vec_push(&ret->of, ((struct seen){.pid = pids[i]})))
			return err_set(err, -ENOMEM, "out of memory");
	if (ret->of.n)
		qsort(ret->of.v, ret->of.n, sizeof(*ret->of.v), by_pid);
	return 0;
}

static void take_over(struct scan *s, struct seen *now, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct seen *before =
			s->all.of.n ? bsearch(&now[i], s->all.of.v, s->all.of.n, sizeof(now[i]), by_pid) : NULL;

		if (before)
			now[i] = *before;
	}
}

static bool choose(struct scan *s, uint64_t now_ns)
{
	bool ok = true;

	s->next.n = 0;
	for (size_t i = 0; ok && i < s->all.of.n; i++) {
		struct seen *p = &s->all.of.v[i];

		if (p->next_ns > now_ns)
			continue;
		p->delay_ns = !p->delay_ns ? SECOND_NS : p->delay_ns < DELAY_MAX_NS ? 2 * p->delay_ns : DELAY_MAX_NS;
		p->next_ns = now_ns + p->delay_ns;
		ok = vec_push(&s->next, p->pid);
	}
	return ok;
}

/* --- looking --- */

static bool look(void *ctx, pid_t pid, void *record, struct err *failed)
{
	(void)ctx, (void)failed;
	return inspect_outline(pid, record) == 0;
}

static void looked(void *ctx, pid_t pid, const void *record)
{
	const struct scan *s = ctx;
	struct inspect_outline o;
	struct scan_found f = {.pid = pid};
	struct proc *p;

	memcpy(&o, record, sizeof(o));
	if (!o.may_be_jvm || proc_open(pid, &p, NULL) < 0)
		return;
	f.start_ticks = proc_start_ticks(p);
	f.uid = o.uid;
	f.in_namespace = !proc_same_ns(p, "user");
	proc_close(p);
	s->found(s->ctx, &f);
}

/* It comes again with a later turn. */
static void stuck(void *ctx, pid_t pid, int signal)
{
	(void)ctx, (void)pid, (void)signal;
}

int scan_turn(struct scan *s, void (*found)(void *ctx, const struct scan_found *f), void *ctx, struct err *err)
{
	struct list now = {0};
	uint64_t now_ns = clock_monotonic_ns();
	const struct each_process e = {.ctx = s,
				       .record = sizeof(struct inspect_outline),
				       .deadline_ns = now_ns + PATIENCE_NS,
				       .begin = closing_for_names,
				       .look = look,
				       .found = looked,
				       .stuck = stuck};
	size_t left = 0;
	int r;

	r = list_read(&now, err);
	if (r < 0) {
		vec_done(&now.of);
		return r;
	}
	take_over(s, now.of.v, now.of.n);
	vec_done(&s->all.of);
	s->all = now;
	s->found = found;
	s->ctx = ctx;
	if (!choose(s, now_ns))
		return err_set(err, -ENOMEM, "out of memory");
	return s->next.n ? each_process(s->next.v, s->next.n, &e, &left, err) : 0;
}
