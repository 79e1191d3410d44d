/*
 * MONITOR_DUMP: the monitors that a thread owns, enters or waits in. All other threads are suspended, if possible,
 * while the monitors are examined, and resumed before the agent gets the event.
 */
#include "jvm-bridge/host/dumps/monitor_dump.h"

#include <stdlib.h>

#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/classes/trace.h"
#include "jvm-bridge/host/dumps/dump_space.h"
#include "jvm-bridge/host/dumps/dump_write.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/owner.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

enum { SPACE = 1 << 28, TRACE_FRAMES = 64, RAW_MAX = 1024 };

struct stopped {
	JNIEnv **envs;
	jint *results;
	jint n, max;
};

struct monitors {
	JNIEnv *env;
	struct thread *t;
	struct dump_space space;
	struct object_id **seen;
	size_t n, cap;
	struct tie *ties;
	size_t n_ties, cap_ties;
	bool failed;
};

/* What a thread has to do with a monitor; for JVMs that must not be asked about the monitor itself (owner.h). */
struct tie {
	struct object_id *id;
	JNIEnv *env;
	enum { TIE_OWNS, TIE_ENTERS, TIE_WAITS } kind;
};

static void stop_count(struct thread *t, void *arg)
{
	struct stopped *s = arg;

	s->max += !t->system;
}

static void stop_one(struct thread *t, void *arg)
{
	struct stopped *s = arg;

	if (!t->system && s->n < s->max)
		s->envs[s->n++] = t->env;
}

static void all_stop(struct stopped *s)
{
	thread_each(stop_count, s);
	s->envs = calloc((size_t)s->max + 1, sizeof(*s->envs));
	s->results = calloc((size_t)s->max + 1, sizeof(*s->results));
	if (!s->envs || !s->results)
		return;
	thread_each(stop_one, s);
	thread_suspend_list(s->n, s->envs, s->results);
}

/* Threads that the agent had suspended itself stay suspended. */
static void all_go(struct stopped *s)
{
	for (jint i = 0; i < s->n; i++)
		if (!s->results[i])
			thread_resume_list(1, &s->envs[i], NULL);
	free(s->envs);
	free(s->results);
}

static bool seen_before(struct monitors *m, struct object_id *id)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->seen[i] == id)
			return true;
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		struct object_id **more = realloc(m->seen, cap * sizeof(*more));

		if (!more)
			return true;
		m->seen = more;
		m->cap = cap;
	}
	m->seen[m->n++] = id;
	return false;
}

static JNIEnv *env_of(struct monitors *m, jobject thread)
{
	struct thread *t = thread ? thread_of_object(thread, m->env) : NULL;

	return t ? t->env : NULL;
}

static void threads_write(struct monitors *m, JNIEnv *const *envs, jint n)
{
	char *p = dump_behind(&m->space, 4 + 8 * (size_t)n);

	m->failed |= !p;
	if (!p)
		return;
	p = put_u4(p, (uint32_t)n);
	for (jint i = 0; i < n; i++)
		p = put_pointer(p, envs[i]);
}

static bool is_among(struct monitors *m, jobject one, const jthread *list, jint n)
{
	for (jint i = 0; i < n; i++)
		if ((*m->env)->IsSameObject(m->env, one, list[i]))
			return true;
	return false;
}

/* JDK 8 to 22 count threads that wait to be notified also as waiting to enter. */
static void waiters_write(struct monitors *m, const jvmtiMonitorUsage *u)
{
	jint n = 0, waits = 0;
	JNIEnv **envs = calloc((size_t)u->waiter_count + (size_t)u->notify_waiter_count + 1, sizeof(JNIEnv *));

	m->failed |= !envs;
	if (!envs)
		return;
	for (jint i = 0; i < u->waiter_count; i++)
		if (!is_among(m, u->waiters[i], u->notify_waiters, u->notify_waiter_count) &&
		    (envs[n] = env_of(m, u->waiters[i])))
			n++;
	threads_write(m, envs, n);
	for (jint i = 0; i < u->notify_waiter_count; i++)
		if ((envs[waits] = env_of(m, u->notify_waiters[i])))
			waits++;
	threads_write(m, envs, waits);
	free(envs);
}

static void usage_done(struct monitors *m, jvmtiMonitorUsage *u)
{
	for (jint i = 0; i < u->waiter_count; i++)
		(*m->env)->DeleteLocalRef(m->env, u->waiters[i]);
	for (jint i = 0; i < u->notify_waiter_count; i++)
		(*m->env)->DeleteLocalRef(m->env, u->notify_waiters[i]);
	if (u->owner)
		(*m->env)->DeleteLocalRef(m->env, u->owner);
	bridge_free(u->waiters);
	bridge_free(u->notify_waiters);
}

static void java_write(struct monitors *m, jobject object)
{
	struct object_id *id = id_of_object(m->t, m->env, object);
	jvmtiMonitorUsage u = {0};
	char *p;

	if (!id || seen_before(m, id) || (*the_bridge.ti)->GetObjectMonitorUsage(the_bridge.ti, object, &u))
		return;
	p = dump_behind(&m->space, 1 + 8 + 8 + 4);
	m->failed |= !p;
	if (p) {
		p = put_pointer(put_u1(p, JVMPI_MONITOR_JAVA), id);
		put_u4(put_pointer(p, env_of(m, u.owner)), (uint32_t)u.entry_count);
		waiters_write(m, &u);
	}
	usage_done(m, &u);
}

static void tie_add(struct monitors *m, jobject object, JNIEnv *env, int kind)
{
	struct object_id *id = id_of_object(m->t, m->env, object);
	size_t cap = m->cap_ties ? 2 * m->cap_ties : 64;
	struct tie *more = m->ties;

	if (m->n_ties == m->cap_ties) {
		more = realloc(m->ties, cap * sizeof(*more));
		m->cap_ties = more ? cap : m->cap_ties;
		m->ties = more ? more : m->ties;
	}
	m->failed |= !more || !id;
	if (more && id)
		more[m->n_ties++] = (struct tie){id, env, kind};
}

static int tie_order(const void *a, const void *b)
{
	const struct tie *x = a, *y = b;

	return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (int)x->kind - (int)y->kind;
}

static void tied_write(struct monitors *m, const struct tie *ties, size_t n, int kind)
{
	JNIEnv **envs = calloc(n + 1, sizeof(JNIEnv *));
	jint count = 0;

	m->failed |= !envs;
	if (!envs)
		return;
	for (size_t i = 0; i < n; i++)
		if ((int)ties[i].kind == kind)
			envs[count++] = ties[i].env;
	threads_write(m, envs, count);
	free(envs);
}

/* JVMTI lists a monitor once for each thread that owns it, however often it was entered. */
static void ties_write(struct monitors *m)
{
	if (m->n_ties)
		qsort(m->ties, m->n_ties, sizeof(*m->ties), tie_order);
	for (size_t i = 0, n; i < m->n_ties; i += n) {
		const struct tie *first = &m->ties[i];
		JNIEnv *owner = first->kind == TIE_OWNS ? first->env : NULL;
		char *p = dump_behind(&m->space, 1 + 8 + 8 + 4);

		for (n = 1; i + n < m->n_ties && first[n].id == first->id; n++)
			;
		m->failed |= !p;
		if (!p)
			return;
		p = put_pointer(put_u1(p, JVMPI_MONITOR_JAVA), first->id);
		put_u4(put_pointer(p, owner), owner != NULL);
		tied_write(m, first, n, TIE_ENTERS);
		tied_write(m, first, n, TIE_WAITS);
	}
}

static void monitor_met(struct monitors *m, jobject object, JNIEnv *env, int kind)
{
	if (owner_is_asked())
		java_write(m, object);
	else
		tie_add(m, object, env, kind);
}

/* JDK 25's JVMTI does not tell which monitor a thread waits in; its Object.wait() frame does. */
static jobject waited_in(jthread thread, jint state)
{
	jobject object = NULL;

	if (!(state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT) ||
	    (*the_bridge.ti)->GetLocalInstance(the_bridge.ti, thread, 0, &object))
		return NULL;
	return object;
}

static void write_thread_monitors(struct thread *t, void *arg)
{
	struct monitors *m = arg;
	JNIEnv *env = m->env;
	jvmtiEnv *ti = the_bridge.ti;
	jobject thread = thread_object(t, env), *owned = NULL, wanted = NULL;
	jint n = 0, state = 0;

	if (!thread)
		return;
	if ((*ti)->GetOwnedMonitorInfo(ti, thread, &n, &owned))
		n = 0;
	for (jint i = 0; i < n; i++) {
		monitor_met(m, owned[i], t->env, TIE_OWNS);
		(*env)->DeleteLocalRef(env, owned[i]);
	}
	bridge_free(owned);
	if ((*ti)->GetCurrentContendedMonitor(ti, thread, &wanted))
		wanted = NULL;
	if ((*ti)->GetThreadState(ti, thread, &state))
		state = 0;
	if (!wanted)
		wanted = waited_in(thread, state);
	if (wanted) {
		monitor_met(m, wanted, t->env, state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT ? TIE_WAITS : TIE_ENTERS);
		(*env)->DeleteLocalRef(env, wanted);
	}
	(*env)->DeleteLocalRef(env, thread);
}

struct raw_search {
	JVMPI_RawMonitor monitor;
	bool waiting;
	JNIEnv **envs;
	jint n, max;
};

static void raw_search_one(struct thread *t, void *arg)
{
	struct raw_search *s = arg;

	if (atomic_load(s->waiting ? &t->raw_waits : &t->raw_enters) == s->monitor && s->n < s->max)
		s->envs[s->n++] = t->env;
}

static void raw_threads_write(struct monitors *m, JVMPI_RawMonitor monitor, bool waiting)
{
	JNIEnv *envs[512];
	struct raw_search s = {monitor, waiting, envs, 0, sizeof(envs) / sizeof(*envs)};

	thread_each(raw_search_one, &s);
	threads_write(m, envs, s.n);
}

/* The record points to the names in `list`. */
static void raw_write(struct monitors *m, struct raw_monitor *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *p = dump_behind(&m->space, 1 + 3 * 8 + 4);

		m->failed |= !p;
		if (!p)
			return;
		p = put_pointer(put_pointer(put_u1(p, JVMPI_MONITOR_RAW), list[i].name), list[i].id);
		put_u4(put_pointer(p, list[i].owner), list[i].depth);
		raw_threads_write(m, list[i].id, false);
		raw_threads_write(m, list[i].id, true);
	}
}

static jint dump_send(struct agent *a, struct monitors *m, struct traces *traces)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT};

	e.u.monitor_dump.begin = m->space.begin;
	e.u.monitor_dump.end = m->space.end;
	e.u.monitor_dump.num_traces = traces->n;
	e.u.monitor_dump.traces = traces->at;
	e.u.monitor_dump.threads_status = traces->status;
	return !m->failed && event_send(a, m->t, &e, GC_NOT) ? JVMPI_SUCCESS : JVMPI_FAIL;
}

static jint dump_make(struct agent *a, struct monitors *m)
{
	struct raw_monitor *raw = calloc(RAW_MAX, sizeof(*raw));
	struct stopped stopped = {0};
	struct allocs kept;
	struct traces traces;
	jint r;

	if (!raw || !dump_space_open(&m->space, SPACE)) {
		free(raw);
		return JVMPI_FAIL;
	}
	all_stop(&stopped);
	allocs_keep(m->t, &kept);
	thread_each(write_thread_monitors, m);
	ties_write(m);
	raw_write(m, raw, monitors_list(raw, RAW_MAX));
	traces_get(&traces, TRACE_FRAMES);
	all_go(&stopped);
	allocs_send(m->t, m->env);
	r = dump_send(a, m, &traces);
	traces_done(&traces);
	dump_space_done(&m->space);
	free(raw);
	return r;
}

jint monitor_dump_request(struct agent *a, struct thread *t, JNIEnv *env)
{
	struct monitors m = {.env = env, .t = t};
	jthrowable pending;
	jint r = JVMPI_FAIL;

	if (!support_prepare(JVMPI_EVENT_MONITOR_DUMP))
		return JVMPI_NOT_AVAILABLE;
	pending = bridge_exception_take(env);
	if (!(*env)->PushLocalFrame(env, 64)) {
		r = dump_make(a, &m);
		(*env)->PopLocalFrame(env, NULL);
	}
	free(m.seen);
	free(m.ties);
	bridge_exception_put(env, pending);
	return r;
}
