#include "jvm-bridge/host/stacks/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/classes/trace.h"
#include "jvm-bridge/host/stacks/clock.h"
#include "jvm-bridge/host/stacks/walk.h"
#include "jvm-bridge/host/thread.h"

enum {
	FRAMES_MAX = 2048, /* of a stack */
	DEPTH_FIRST = 128, /* until an agent says how many frames it wants */
	KEPT = 4, /* stacks of a thread that wait to be shown */
	FDS = 1 << 16,
	NATIVE = -3, /* in the place of a bytecode index, by AsyncGetCallTrace */
};

#define PERIOD_FIRST 10000000u /* ns, until two suspensions have been seen */
#define PERIOD_MIN 500000u
#define PERIOD_MAX 1000000000u

struct taken {
	jint n;
	JVMPI_CallFrame frames[FRAMES_MAX];
};

/* The thread writes to `kept` in the signal handler; whoever has suspended it reads. Never freed, like struct thread. */
struct stacks {
	struct clock clock;
	JNIEnv *env;
	_Atomic uint32_t written, read; /* how many so far */
	_Atomic bool shown; /* a suspension shows the oldest */
	struct taken kept[KEPT];
};

static struct {
	_Atomic bool open;
	jvmtiEnv *ti; /* its own, so that what it enables does not mix with what agents enable */
	struct lock lock; /* for what makes and changes clocks */
	_Atomic jint depth; /* that agents ask for */
	_Atomic uint64_t began, period; /* ns: of the last suspensions; between them */
	struct stacks *_Atomic of_fd[FDS];
	bool refused, said; /* no thread will get a clock; it has been said that some thread has none */
} all;

bool stacks_are_open(void)
{
	return atomic_load(&all.open);
}

/* In the signal's handler. */
static void take(int fd, const void *ucontext)
{
	struct stacks *s = fd >= 0 && fd < FDS ? atomic_load(&all.of_fd[fd]) : NULL;
	jint depth = atomic_load(&all.depth);
	uint32_t n;

	if (!s || s->clock.tid != (uint32_t)syscall(SYS_gettid))
		return;
	n = atomic_load(&s->written);
	if (n - atomic_load(&s->read) >= KEPT)
		return;
	s->kept[n % KEPT].n = walk_here(s->env, s->kept[n % KEPT].frames, depth ? depth : DEPTH_FIRST, ucontext);
	atomic_store(&s->written, n + 1);
}

/* AsyncGetCallTrace names a method by its jmethodID, which must exist by then. */
static void class_ready(jclass klass)
{
	jmethodID *ids = NULL;
	jint n;

	if (!(*all.ti)->GetClassMethods(all.ti, klass, &n, &ids))
		bridge_free(ids);
}

static void JNICALL on_prepare(jvmtiEnv *ti, JNIEnv *env, jthread thread, jclass klass)
{
	(void)ti, (void)env, (void)thread;
	class_ready(klass);
}

/* AsyncGetCallTrace wants this event to be enabled. */
static void JNICALL on_load(jvmtiEnv *ti, JNIEnv *env, jthread thread, jclass klass)
{
	(void)ti, (void)env, (void)thread, (void)klass;
}

static void JNICALL on_stub(jvmtiEnv *ti, const char *name, const void *addr, jint length)
{
	(void)ti;
	lock_take(&all.lock); /* compilers report methods that are compiled meanwhile, too */
	walk_stub(name, addr, length);
	lock_drop(&all.lock);
}

/* Not COMPILED_METHOD_LOAD: it makes C2 add records for places that are no safepoints, and many of these are wrong. */
static int environment_open(void)
{
	static const jvmtiEventCallbacks callbacks = {
		.ClassLoad = on_load, .ClassPrepare = on_prepare, .DynamicCodeGenerated = on_stub};
	void *ti = NULL;

	if (the_bridge.vm_functions->GetEnv(the_bridge.vm, &ti, JVMTI_VERSION_1_2))
		return -ENOSYS;
	all.ti = ti;
	if ((*all.ti)->SetEventCallbacks(all.ti, &callbacks, sizeof(callbacks)) ||
	    (*all.ti)->SetEventNotificationMode(all.ti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_LOAD, NULL) ||
	    (*all.ti)->SetEventNotificationMode(all.ti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, NULL))
		return -ENOSYS;
	return 0;
}

int stacks_open(void)
{
	int r;

	if (stacks_are_open())
		return 0;
	r = clock_signal_take(take);
	if (r) {
		bridge_say("stacks=signal: this program handles SIGURG itself; stacks are taken at safepoints");
		return r;
	}
	r = walk_open();
	if (!r)
		r = environment_open();
	if (r) {
		bridge_say("stacks=signal: this JVM has no AsyncGetCallTrace; stacks are taken at safepoints");
		return r;
	}
	atomic_store(&all.period, PERIOD_FIRST);
	atomic_store(&all.open, true);
	return 0;
}

static void classes_ready(JNIEnv *env)
{
	jclass *list = NULL;
	jint n = 0;

	if ((*all.ti)->GetLoadedClasses(all.ti, &n, &list))
		return;
	for (jint i = 0; i < n; i++) {
		class_ready(list[i]);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	bridge_free(list);
}

void stacks_live(JNIEnv *env, uint64_t env_distance)
{
	if (!stacks_are_open())
		return;
	walk_init(env_distance);
	if (!(*all.ti)->SetEventNotificationMode(all.ti, JVMTI_ENABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, NULL)) {
		(*all.ti)->GenerateEvents(all.ti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
		(*all.ti)->SetEventNotificationMode(all.ti, JVMTI_DISABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, NULL);
	}
	classes_ready(env);
}

/* Agents look at their threads at about equal intervals. */
static void period_learn(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), before = atomic_exchange(&all.began, now);
	uint64_t period = atomic_load(&all.period), last = now - before;

	if (!before || last > PERIOD_MAX)
		return;
	period = (period * 7 + last) / 8;
	atomic_store(&all.period, period < PERIOD_MIN ? PERIOD_MIN : period);
}

static void refusal_say(int r)
{
	const char *why = r == -EMFILE ? "too many open files" :
			  r == -EACCES || r == -EPERM ?
					 "kernel.perf_event_paranoid is above 2, or a filter of system calls" :
					 strerror(-r);

	if (!all.said)
		bridge_say("stacks=signal: the kernel refuses a clock of CPU time (%s); stacks are taken at safepoints",
			   why);
	all.said = true;
	all.refused = r != -EMFILE; /* a thread that ends gives its file back */
}

static void clock_drop(struct stacks *s)
{
	if (s->clock.fd >= 0 && s->clock.fd < FDS)
		atomic_store(&all.of_fd[s->clock.fd], NULL);
	clock_stop(&s->clock);
}

static void clock_give(struct thread *t)
{
	struct stacks *s = atomic_load(&t->stacks);
	uint64_t period = atomic_load(&all.period);
	uint32_t tid = atomic_load(&t->tid);
	int r;

	if (!s && (s = calloc(1, sizeof(*s)))) {
		s->clock.fd = -1;
		s->env = t->env;
		atomic_store(&t->stacks, s);
	}
	if (!s || !tid)
		return;
	if (s->clock.fd >= 0 && s->clock.tid != tid)
		clock_drop(s); /* of the thread that had this record before */
	if (s->clock.fd >= 0) {
		uint64_t off = s->clock.period < period ? period - s->clock.period : s->clock.period - period;

		if (off > period / 8)
			clock_period(&s->clock, period);
		return;
	}
	if (all.refused)
		return;
	r = clock_make(&s->clock, tid, period);
	if (!r && s->clock.fd >= FDS) {
		clock_stop(&s->clock);
		r = -EMFILE;
	}
	if (r == -ESRCH)
		return; /* it has ended */
	if (r)
		return refusal_say(r);
	atomic_store(&all.of_fd[s->clock.fd], s);
	clock_run(&s->clock);
}

/* Signals must not reach a handler that is not ours. */
static void clock_take_back(struct thread *t, void *arg)
{
	struct stacks *s = atomic_load(&t->stacks);

	(void)arg;
	if (s)
		clock_drop(s);
}

static void clocks_give(jint n, JNIEnv **envs)
{
	JNIEnv *self = bridge_env();

	if (!threads_are_suspended())
		period_learn();
	lock_take(&all.lock);
	if (!clock_signal_is_ours()) {
		thread_each(clock_take_back, NULL);
		atomic_store(&all.open, false);
		bridge_say("stacks=signal: this program handles SIGURG itself now; stacks are taken at safepoints");
		n = 0;
	}
	for (jint i = 0; i < n; i++) {
		struct thread *t = thread_find(envs[i]);

		if (t && t->env != self && !t->system)
			clock_give(t);
	}
	lock_drop(&all.lock);
}

/* NULL: that thread has no clock. */
static struct stacks *stacks_of(JNIEnv *env)
{
	struct thread *t = stacks_are_open() ? thread_find(env) : NULL;
	struct stacks *s = t ? atomic_load(&t->stacks) : NULL;

	return s && s->clock.fd >= 0 ? s : NULL;
}

static bool is_any(const struct stacks *s)
{
	return atomic_load(&s->written) != atomic_load(&s->read);
}

void stacks_suspend_list(jint n, JNIEnv **envs, jint *results)
{
	if (stacks_are_open())
		clocks_give(n, envs);
	thread_suspend_list(n, envs, results);
	for (jint i = 0; i < n; i++) {
		struct stacks *s = stacks_of(envs[i]);

		if (s)
			atomic_store(&s->shown, is_any(s));
	}
}

void stacks_resume_list(jint n, JNIEnv **envs, jint *results)
{
	for (jint i = 0; i < n; i++) {
		struct stacks *s = stacks_of(envs[i]);

		if (s && atomic_exchange(&s->shown, false))
			atomic_fetch_add(&s->read, 1);
	}
	thread_resume_list(n, envs, results);
}

jboolean stacks_has_run(JNIEnv *env)
{
	struct stacks *s = stacks_of(env);

	if (!s)
		return thread_has_run(env);
	return is_any(s) ? JNI_TRUE : JNI_FALSE;
}

static bool is_enter(jmethodID method)
{
	static _Atomic(jmethodID) enter; /* jdk.internal.vm.Continuation.enterSpecial() */
	jmethodID known = atomic_load(&enter);
	char *name = NULL;

	if (!known && !(*all.ti)->GetMethodName(all.ti, method, &name, NULL, NULL) && !strcmp(name, "enterSpecial"))
		atomic_store(&enter, known = method);
	bridge_free(name);
	return method == known;
}

/* The frames of a carrier that belong to its virtual thread: the others are the scheduler's. All, if it has none. */
static jint virtual_frames(const JVMPI_CallFrame *frames, jint n)
{
	for (jint i = 0; i < n; i++)
		if (frames[i].lineno == NATIVE && is_enter(frames[i].method_id))
			return i;
	return n;
}

void stacks_trace_get(JVMPI_CallTrace *trace, jint depth)
{
	struct thread *t = thread_find(trace->env_id);
	struct stacks *s = stacks_of(trace->env_id);
	const struct taken *shown;

	if (!s || !atomic_load(&s->shown))
		return trace_get(trace, depth);
	shown = &s->kept[atomic_load(&s->read) % KEPT];
	if (depth > atomic_load(&all.depth))
		atomic_store(&all.depth, depth < FRAMES_MAX ? depth : FRAMES_MAX);
	trace->num_frames = shown->n < 0 ? 0 : shown->n < depth ? shown->n : depth;
	memcpy(trace->frames, shown->frames, (size_t)trace->num_frames * sizeof(*trace->frames));
	if (atomic_load(&t->carrier) == CARRIER_YES)
		trace->num_frames = virtual_frames(trace->frames, trace->num_frames);
	trace_lines(trace->frames, trace->num_frames);
}

void stacks_end(struct thread *t)
{
	struct stacks *s = t ? atomic_load(&t->stacks) : NULL;

	if (!s)
		return;
	lock_take(&all.lock);
	clock_drop(s);
	lock_drop(&all.lock);
	atomic_store(&s->shown, false);
	atomic_store(&s->read, atomic_load(&s->written));
}
