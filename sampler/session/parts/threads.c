#include "sampler/session/parts/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "symbolizer/base/tid_map.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/proc.h"

/*
 * Names may change. The name of a new thread may not be there yet, and is looked up again sooner. A thread that is not a
 * Java thread seldom becomes one (AttachCurrentThread() of JNI), and to learn that it is none, the JVM's list of threads
 * is read: it is looked up again when it has been known for twice as long, but after a minute at the latest.
 */
#define RENAME_NS UINT64_C(2000000000)
#define NO_JAVA_NS UINT64_C(60000000000)
#define OF_VM_NS UINT64_C(3600000000000)
#define FIRST_RENAME_NS UINT64_C(10000000)

/* Samples of the last microseconds of a thread, in which the kernel no longer knows its tid. */
#define ENDED "(ended)"

struct known_thread {
	int32_t ns_tid;
	uint64_t known_ns; /* since when; 0: it has not been sampled yet */
	uint64_t named_ns; /* 0: it is to be named */
	bool java_name;
	bool of_vm; /* it has the name of a thread that never is a Java thread */
	char comm[16]; /* the kernel's name, TASK_COMM_LEN in linux/sched.h; "": not known */
};

struct threads {
	struct proc *proc; /* NULL: a recording */
	pid_t pid;
	bool same_ns;
	uint64_t rename_ns;
	bool told; /* threads_told() */
	bool some_ended; /* threads_some_ended() */
	struct tid_map by_tid; /* struct known_thread */
	struct known_thread *last;
};

struct threads *threads_new(struct proc *proc, pid_t pid)
{
	struct threads *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->proc = proc;
	t->pid = pid;
	t->rename_ns = RENAME_NS;
	t->by_tid.size = sizeof(struct known_thread);
	t->same_ns = !proc || proc_same_ns(proc, "pid");
	return t;
}

static struct known_thread *thread_find(struct threads *t, pid_t tid)
{
	struct known_thread *th;

	if (t->last && tid_map_tid(t->last) == tid)
		return t->last;
	th = tid_map_find(&t->by_tid, tid);
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

static struct known_thread *thread_add(struct threads *t, pid_t tid)
{
	struct known_thread *th = tid_map_get(&t->by_tid, tid);

	if (!th)
		return NULL;
	th->ns_tid = find_ns_tid(t, tid);
	return t->last = th;
}

/* The JVM renames its first thread to this when main() has returned. */
static bool is_destroy_jvm_rename(const struct threads *t, pid_t tid, const char *name, const struct profile *p)
{
	return strcmp(name, "DestroyJavaVM") == 0 && profile_thread_name(p, t->pid, tid);
}

static bool set_java_name(struct threads *t, struct known_thread *th, struct hotspot *hs, struct profile *p)
{
	const struct hs_thread *jt = hs ? hs_thread_find(hs, th->ns_tid) : NULL;
	char name[3 * 4096 + 1]; /* 4,096 characters of UTF-8 */
	pid_t tid = tid_map_tid(th);

	if (!jt || !hs_thread_name(hs, jt, name, sizeof(name)))
		return false;
	if (!is_destroy_jvm_rename(t, tid, name, p))
		profile_set_thread_name(p, t->pid, tid, name);
	return true;
}

static void set_kernel_name(struct threads *t, pid_t tid, int32_t ns_tid, const char *comm, struct hotspot *hs,
			    struct profile *p)
{
	char whole[256];
	bool is_whole = hs_vm_thread_name(hs, ns_tid, comm, whole, sizeof(whole));

	if (!is_destroy_jvm_rename(t, tid, comm, p))
		profile_set_thread_name(p, t->pid, tid, is_whole ? whole : comm);
}

static bool find_comm(const struct threads *t, struct known_thread *th)
{
	return (t->told && th->comm[0]) || proc_comm(t->proc, tid_map_tid(th), th->comm, sizeof(th->comm)) == 0;
}

static void set_name(struct threads *t, struct known_thread *th, struct hotspot *hs, struct profile *p)
{
	if (!t->proc)
		return;
	if (set_java_name(t, th, hs, p))
		th->java_name = true;
	else if (!th->java_name && find_comm(t, th))
		set_kernel_name(t, tid_map_tid(th), th->ns_tid, th->comm, hs, p);
	th->of_vm = hs && hs_is_vm_thread(th->comm);
}

static uint64_t pause_ns(const struct threads *t, const struct known_thread *th)
{
	uint64_t ns = th->named_ns - th->known_ns;

	if (th->java_name)
		return t->rename_ns;
	if (th->of_vm)
		return OF_VM_NS;
	return ns < FIRST_RENAME_NS ? FIRST_RENAME_NS : ns > NO_JAVA_NS ? NO_JAVA_NS : ns;
}

static bool is_to_be_named(const struct threads *t, const struct known_thread *th, uint64_t now_ns)
{
	return !th->named_ns || now_ns - th->named_ns > pause_ns(t, th);
}

int32_t threads_seen(struct threads *t, pid_t tid, uint64_t now_ns, struct hotspot *hs, struct profile *p)
{
	struct known_thread *th;

	if (tid < 0) {
		profile_set_thread_name(p, t->pid, tid, ENDED);
		return 0;
	}
	th = thread_find(t, tid);
	if (!th)
		th = thread_add(t, tid);
	if (!th)
		return t->same_ns ? tid : 0;
	if (!th->known_ns || now_ns < th->known_ns) /* samples of two CPUs may come in another order */
		th->known_ns = now_ns;
	if (is_to_be_named(t, th, now_ns)) {
		th->named_ns = now_ns;
		set_name(t, th, hs, p);
	}
	return th->ns_tid;
}

void threads_comm(struct threads *t, pid_t tid, const char *comm, struct hotspot *hs, struct profile *p)
{
	struct known_thread *th = thread_find(t, tid);

	if (th)
		snprintf(th->comm, sizeof(th->comm), "%s", comm);
	if (th)
		th->of_vm = false;
	if (th && th->java_name)
		return;
	set_kernel_name(t, tid, th ? th->ns_tid : find_ns_tid(t, tid), comm, hs, p);
}

void threads_name_rest(struct threads *t, struct hotspot *hs, struct profile *p)
{
	for (struct known_thread *th = NULL; (th = tid_map_next(&t->by_tid, th));)
		if (!th->java_name)
			set_name(t, th, hs, p);
}

void threads_add_recorded(struct threads *t, pid_t tid, int32_t ns_tid, const char *name, struct profile *p)
{
	struct known_thread *th = thread_add(t, tid);

	if (!th)
		return;
	th->ns_tid = ns_tid;
	profile_set_thread_name(p, t->pid, tid, name);
}

void threads_rename_every(struct threads *t, uint64_t ns)
{
	t->rename_ns = ns;
}

void threads_told(struct threads *t)
{
	t->told = true;
}

void threads_rename(struct threads *t, pid_t tid)
{
	struct known_thread *th = thread_find(t, tid);

	if (th)
		th->named_ns = 0;
}

void threads_rename_all(struct threads *t)
{
	for (struct known_thread *th = NULL; (th = tid_map_next(&t->by_tid, th));) {
		th->known_ns = th->named_ns = 0;
		th->java_name = false;
		th->comm[0] = '\0';
	}
}

static void drop(struct threads *t, struct known_thread *th)
{
	if (t->last == th)
		t->last = NULL;
	t->some_ended = true;
	tid_map_drop(&t->by_tid, th);
}

/* In another PID namespace, the tid there is looked up only once: the thread is known anew when it is sampled. */
void threads_forget(struct threads *t)
{
	struct known_thread *th = tid_map_next(&t->by_tid, NULL);

	while (th) {
		struct known_thread *next = tid_map_next(&t->by_tid, th);

		if (!th->named_ns || !t->same_ns)
			drop(t, th);
		th = next;
	}
	threads_rename_all(t);
}

static void thread_ended(void *part, pid_t tid)
{
	struct threads *t = part;
	struct known_thread *th = thread_find(t, tid);

	if (th)
		drop(t, th);
}

bool threads_some_ended(const struct threads *t)
{
	return t->some_ended;
}

static void exec(void *part)
{
	threads_rename_all(part);
}

/* Of threads that are still there; those of others are in the profile that had their samples. */
static void renewed(void *part, const struct profile *old, struct profile *fresh)
{
	struct threads *t = part;

	for (struct known_thread *th = NULL; (th = tid_map_next(&t->by_tid, th));) {
		const char *name = profile_thread_name(old, t->pid, tid_map_tid(th));

		if (name)
			profile_set_thread_name(fresh, t->pid, tid_map_tid(th), name);
	}
	t->some_ended = false;
}

static void close_part(void *part)
{
	struct threads *t = part;

	tid_map_clear(&t->by_tid);
	free(t);
}

const struct part_ops threads_part = {
	.thread_ended = thread_ended,
	.exec = exec,
	.renewed = renewed,
	.close = close_part,
};
