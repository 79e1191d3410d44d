#include "sampler/session/threads.h"

#include <stdlib.h>

#include "sampler/profile/profile.h"
#include "symbolizer/base/map.h"
#include "symbolizer/hotspot/hs_thread.h"
#include "symbolizer/target/proc.h"

#define RENAME_NS UINT64_C(2000000000)

struct thread {
	pid_t tid;
	int32_t ns_tid;
	uint64_t named_ns; /* 0: never */
	bool java_name;
	UT_hash_handle hh;
};

struct threads {
	struct proc *proc; /* NULL: a recording */
	pid_t pid;
	bool same_ns;
	struct thread *by_tid;
	struct thread *last;
};

struct threads *threads_new(struct proc *proc, pid_t pid)
{
	struct threads *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->proc = proc;
	t->pid = pid;
	t->same_ns = !proc || proc_same_ns(proc, "pid");
	return t;
}

void threads_free(struct threads *t)
{
	struct thread *th, *next;

	if (!t)
		return;
	HASH_ITER(hh, t->by_tid, th, next) {
		HASH_DEL(t->by_tid, th);
		free(th);
	}
	free(t);
}

static struct thread *thread_find(struct threads *t, pid_t tid)
{
	struct thread *th;

	if (t->last && t->last->tid == tid)
		return t->last;
	HASH_FIND_INT(t->by_tid, &tid, th);
	if (th)
		t->last = th;
	return th;
}

static int32_t find_ns_tid(struct threads *t, pid_t tid)
{
	pid_t ns_tid;

	if (t->same_ns)
		return tid;
	return proc_ns_tid(t->proc, tid, &ns_tid) < 0 ? 0 : ns_tid;
}

static struct thread *thread_add(struct threads *t, pid_t tid)
{
	struct thread *th = calloc(1, sizeof(*th));

	if (!th)
		return NULL;
	th->tid = tid;
	th->ns_tid = find_ns_tid(t, tid);
	HASH_ADD_INT(t->by_tid, tid, th);
	if (!th->hh.tbl) {
		free(th);
		return NULL;
	}
	return t->last = th;
}

static bool set_java_name(struct threads *t, struct thread *th, struct hotspot *hs,
			  struct profile *p)
{
	const struct hs_thread *jt = hs ? hs_thread_find(hs, th->ns_tid) : NULL;
	char name[3 * 4096 + 1]; /* 4,096 characters of UTF-8 */

	if (!jt || !hs_thread_name(hs, jt, name, sizeof(name)))
		return false;
	profile_set_thread_name(p, t->pid, th->tid, name);
	return true;
}

static void set_name(struct threads *t, struct thread *th, struct hotspot *hs, struct profile *p)
{
	char comm[64];

	if (!t->proc)
		return;
	if (set_java_name(t, th, hs, p))
		th->java_name = true;
	else if (!th->java_name && proc_comm(t->proc, th->tid, comm, sizeof(comm)) == 0)
		profile_set_thread_name(p, t->pid, th->tid, comm);
}

int32_t threads_seen(struct threads *t, pid_t tid, uint64_t now_ns, struct hotspot *hs,
		     struct profile *p)
{
	struct thread *th = thread_find(t, tid);

	if (!th)
		th = thread_add(t, tid);
	if (!th)
		return t->same_ns ? tid : 0;
	if (!th->named_ns || now_ns - th->named_ns > RENAME_NS) {
		th->named_ns = now_ns;
		set_name(t, th, hs, p);
	}
	return th->ns_tid;
}

void threads_comm(struct threads *t, pid_t tid, const char *comm, struct profile *p)
{
	struct thread *th = thread_find(t, tid);

	if (th && th->java_name)
		return;
	profile_set_thread_name(p, t->pid, tid, comm);
}

void threads_exited(struct threads *t, pid_t tid)
{
	struct thread *th = thread_find(t, tid);

	if (!th)
		return;
	if (t->last == th)
		t->last = NULL;
	HASH_DEL(t->by_tid, th);
	free(th);
}

void threads_add_recorded(struct threads *t, pid_t tid, int32_t ns_tid, const char *name,
			  struct profile *p)
{
	struct thread *th = thread_add(t, tid);

	if (!th)
		return;
	th->ns_tid = ns_tid;
	profile_set_thread_name(p, t->pid, tid, name);
}

void threads_rename(struct threads *t, pid_t tid)
{
	struct thread *th = thread_find(t, tid);

	if (th)
		th->named_ns = 0;
}

void threads_rename_all(struct threads *t)
{
	struct thread *th, *next;

	HASH_ITER(hh, t->by_tid, th, next) {
		th->named_ns = 0;
		th->java_name = false;
	}
}
