#include "sampler/cli/targets/find_jvms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/closing/closing.h"
#include "sampler/inspect/each_process.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"

struct candidate {
	pid_t pid;
	struct inspect_outline o;
	bool looked, is_jvm;
};

struct search {
	VEC(struct candidate) all;
	VEC(pid_t) next; /* to be examined */
	struct found_jvms *found;
	uint64_t deadline_ns; /* for the whole search */
	struct err failed; /* why a process could not be examined; "": none */
};

static void search_done(struct search *s)
{
	vec_done(&s->all);
	vec_done(&s->next);
}

/* --- possible JVMs, by their mappings --- */

static bool look_at_outline(void *ctx, pid_t pid, void *record, struct err *failed)
{
	(void)ctx, (void)failed;
	return inspect_outline(pid, record) == 0;
}

static void add_candidate(struct search *s, const struct candidate *c)
{
	if (!vec_push(&s->all, *c))
		s->found->left++;
}

static void found_outline(void *ctx, pid_t pid, const void *record)
{
	struct candidate c = {.pid = pid};

	memcpy(&c.o, record, sizeof(c.o));
	add_candidate(ctx, &c);
}

static void outline_stuck(void *ctx, pid_t pid, int signal)
{
	struct candidate c = {.pid = pid, .o = {.may_be_jvm = true}};

	(void)signal; /* reported at the next stage */
	add_candidate(ctx, &c);
}

/* --- actual JVMs --- */

_Static_assert(sizeof(struct inspection) <= EACH_RECORD_MAX, "fits into an answer");

static bool look_at_all(void *ctx, pid_t pid, void *record, struct err *failed)
{
	struct closing c = {0};
	struct inspection i = {0};
	int r = closing_for_one_process(&c, pid, failed);
	bool is_one = r == 0 && inspect_process(pid, &i) == 0 && i.jvm != INSPECT_NO_JVM;

	(void)ctx;
	if (r == -ESRCH)
		*failed = (struct err){0};
	memcpy(record, &i, sizeof(i));
	closing_done(&c);
	return is_one;
}

static void add(struct search *s, const struct inspection *i)
{
	if (!vec_push(s->found, *i))
		s->found->left++;
}

static void found_jvm(void *ctx, pid_t pid, const void *record)
{
	struct search *s = ctx;
	struct inspection told, i;

	memcpy(&told, record, sizeof(told));
	if (inspect_confirm(pid, &told, &i) < 0)
		return;
	add(s, &i);
	for (size_t k = 0; k < s->all.n; k++)
		s->all.v[k].is_jvm |= s->all.v[k].pid == pid;
}

static void jvm_stuck(void *ctx, pid_t pid, int signal)
{
	struct inspection i;

	if (inspect_outside(pid, &i) < 0)
		return;
	each_process_say_stuck(pid, signal);
	i.silent = true;
	if (i.jvm != INSPECT_NO_JVM)
		add(ctx, &i);
}

/* --- both stages --- */

static int run(struct search *s, struct each_process e, const pid_t *pids, size_t n, struct err *err)
{
	size_t left = 0;
	int r;

	e.ctx = s;
	e.deadline_ns = s->deadline_ns;
	e.failed = &s->failed;
	r = each_process(pids, n, &e, &left, err);
	s->found->left += left;
	return r;
}

/* Of one user, so that another user's processes decide nothing. */
static bool same_program(const struct inspect_outline *a, const struct inspect_outline *b)
{
	return a->inode == b->inode && a->dev_minor == b->dev_minor && a->dev_major == b->dev_major && a->uid == b->uid;
}

static bool is_first(const struct search *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->all.n && !c->o.may_be_jvm; i++)
		if (s->all.v[i].looked && same_program(&s->all.v[i].o, &c->o))
			return false;
	return true;
}

/* Another process of that program was a JVM without a libjvm.so: a native image. */
static bool is_of_image(const struct search *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].is_jvm && same_program(&s->all.v[i].o, &c->o))
			return true;
	return false;
}

/* Examines wanted candidates; of the processes of a program without libjvm.so, one decides for all. */
static int look(struct search *s, bool (*wanted)(const struct search *s, const struct candidate *c), struct err *err)
{
	static const struct each_process jvms = {.record = sizeof(struct inspection),
						 .apart = true,
						 .look = look_at_all,
						 .found = found_jvm,
						 .stuck = jvm_stuck};

	s->next.n = 0;
	for (size_t i = 0; i < s->all.n; i++) {
		struct candidate *c = &s->all.v[i];

		if (c->looked || !wanted(s, c))
			continue;
		c->looked = true;
		if (!vec_push(&s->next, c->pid))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return run(s, jvms, s->next.v, s->next.n, err);
}

static int by_pid(const void *a, const void *b)
{
	const struct inspection *x = a, *y = b;

	return ascending(x->pid, y->pid);
}

int find_jvms(const pid_t *pids, size_t n, struct found_jvms *ret, struct err *err)
{
	static const struct each_process outlines = {.record = sizeof(struct inspect_outline),
						     .begin = closing_for_names,
						     .look = look_at_outline,
						     .found = found_outline,
						     .stuck = outline_stuck};
	struct search s = {.found = ret, .deadline_ns = clock_monotonic_ns() + EACH_ALL_MS * UINT64_C(1000000)};
	int r = run(&s, outlines, pids, n, err);

	if (r == 0 && s.all.n)
		closing_say_gaps();
	if (r == 0)
		r = look(&s, is_first, err);
	if (r == 0)
		r = look(&s, is_of_image, err);
	if (r == 0)
		r = each_process_take_failed(&s.failed, ret->n > 0, err);
	search_done(&s);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_pid);
	return r;
}

void found_jvms_done(struct found_jvms *f)
{
	vec_done(f);
}
