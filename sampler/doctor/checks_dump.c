#include "sampler/doctor/checks_target.h"

#include <stdio.h>
#include <string.h>

#include "jvm-bridge/attach/attach.h"
#include "sampler/doctor/java_stack.h"
#include "sampler/doctor/thread_dump.h"
#include "sampler/readers/readers.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/threads/hs_thread.h"

/* Limits for what the target controls: threads, depth of stacks, length of names. */
enum { MAX_THREADS = 2000, MAX_NAMES = 64 << 20 };
#define LOOK_NS UINT64_C(2000000000)
/* The JVM gets the remaining time to answer, but at least LEAST_MS. END_MS is reserved for what follows its answer. */
enum { LEAST_MS = 2000, END_MS = 700 };

struct looked {
	pid_t tid;
	int32_t ns_tid;
	struct java_stack stack;
};
typedef VEC(struct looked) looked_vec;

struct comparison {
	size_t same, frames, different, incomplete;
	char example[240];
};

static void looked_done(looked_vec *all)
{
	for (size_t i = 0; i < all->n; i++)
		java_stack_done(&all->v[i].stack);
	vec_done(all);
}

/* Looks at all Java threads that are waiting now. */
static void look_at_threads(struct checked *t, looked_vec *ret)
{
	CLEANUP(free_at_exit) pid_t *tids = NULL;
	uint64_t deadline_ns = clock_monotonic_ns() + LOOK_NS;
	size_t n = 0, names = 0;

	if (proc_tasks(t->proc, &tids, &n) < 0)
		return;
	hs_thread_refresh(t->readers->hs);
	for (size_t i = 0; i < n && ret->n < MAX_THREADS && names < MAX_NAMES; i++) {
		struct looked l = {.tid = tids[i]};

		if (clock_monotonic_ns() > deadline_ns)
			return;
		if (proc_ns_tid(t->proc, l.tid, &l.ns_tid) < 0 || !hs_thread_find(t->readers->hs, l.ns_tid) ||
		    java_stack_read(t->readers, t->proc, l.tid, l.ns_tid, &l.stack) < 0)
			continue;
		names += l.stack.names.cap;
		if (!vec_push(ret, l))
			java_stack_done(&l.stack);
	}
}

static void note_example(struct comparison *k, const struct dump_thread *d, const char *walked, const char *said)
{
	if (!k->example[0])
		snprintf(k->example, sizeof(k->example), "thread '%.40s': walked %.80s, the JVM says %.80s", d->name,
			 walked, said);
}

static bool same_names(const struct looked *l, const struct dump_thread *d, const struct thread_dump *dump,
		       struct comparison *k)
{
	const char *name = l->stack.names.data, *end = name + l->stack.names.len;
	size_t n = d->n < THREAD_DUMP_DEPTH ? d->n : THREAD_DUMP_DEPTH;

	for (size_t i = 0; i < n; i++) {
		const char *said = dump->frames[d->first + i];

		if (!name || name >= end || strncmp(name, said, THREAD_DUMP_NAME) != 0) {
			note_example(k, d, name && name < end ? name : "nothing", said);
			return false;
		}
		name += strlen(name) + 1;
	}
	if (name < end && n < THREAD_DUMP_DEPTH)
		note_example(k, d, name, "nothing");
	return name >= end || n == THREAD_DUMP_DEPTH;
}

static void compare_one(struct checked *t, const struct looked *l, const struct thread_dump *dump, struct comparison *k)
{
	const struct dump_thread *d = thread_dump_find(dump, l->ns_tid);

	/* The dump shows a mounted virtual thread and its carrier as two stacks. */
	if (!d || !d->n || d->mounts || l->stack.frozen || !java_stack_unchanged(t->proc, l->tid, &l->stack))
		return;
	/* Some native frames cannot be walked without the other registers; a recording would report them. */
	if (!l->stack.complete) {
		k->incomplete++;
	} else if (!same_names(l, d, dump, k)) {
		k->different++;
	} else {
		k->same++;
		k->frames += d->n;
	}
}

static void say(struct checked *t, const struct comparison *k)
{
	size_t all = k->same + k->different;
	char rest[80] = "";

	if (k->incomplete)
		snprintf(rest, sizeof(rest), "; %zu more could not be walked without their registers", k->incomplete);
	if (!all) {
		checks_add(t->c, CHECK_SKIP, "thread dump",
			   "no Java thread kept waiting, so there is nothing "
			   "to compare%s",
			   rest);
	} else if (k->different) {
		checks_add(t->c, CHECK_FAIL, "thread dump",
			   "tried: %zu of %zu waiting threads differ from "
			   "the JVM's own dump; %s",
			   k->different, all, k->example);
		checks_remedy(t->c, "jsampler snapshot -p %d -o doctor.recording, for a bug report",
			      (int)proc_pid(t->proc));
	} else {
		checks_add(t->c, CHECK_OK, "thread dump",
			   "tried: %zu waiting threads, %zu Java frames: the "
			   "same as in the JVM's own dump%s",
			   k->same, k->frames, rest);
	}
}

static void compare(struct checked *t, looked_vec *before, char *text)
{
	struct comparison k = {0};
	struct thread_dump dump;

	if (thread_dump_parse(text, &dump) < 0)
		return;
	for (size_t i = 0; i < before->n; i++)
		compare_one(t, &before->v[i], &dump, &k);
	say(t, &k);
	thread_dump_done(&dump);
}

static unsigned patience_ms(const struct checked *t)
{
	uint64_t took = (clock_monotonic_ns() - t->began_ns) / 1000000 + END_MS;

	return took + LEAST_MS < CHECKS_ALL_MS ? (unsigned)(CHECKS_ALL_MS - took) : LEAST_MS;
}

void checks_dump(struct checked *t)
{
	CLEANUP(free_at_exit) char *text = NULL;
	looked_vec before = {0};
	struct err err = {0};
	size_t len;

	if (t->readers->jvm != JVM_READY)
		return;
	if (t->no_attach || !t->attach) {
		checks_add(t->c, CHECK_SKIP, "thread dump", "not compared with the JVM's own: %s",
			   t->no_attach ? t->no_attach : "no attach");
		return;
	}
	look_at_threads(t, &before);
	attach_set_patience(t->attach, patience_ms(t));
	if (attach_ask(t->attach, t->may_wake, &text, &len, &err) < 0)
		checks_add(t->c, CHECK_SKIP, "thread dump", "not compared with the JVM's own: %s", err.msg);
	else
		compare(t, &before, text);
	looked_done(&before);
}
