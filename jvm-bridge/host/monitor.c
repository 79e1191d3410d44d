/*
 * Raw monitors. Not JVMTI's: those return an error if a thread exits a monitor it does not own, end a wait on
 * interrupt, and cannot be listed. Threads waiting here are in native state.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/thread.h"

#define MONITOR_MAGIC 0x4a53424d4f4e4954ull
enum { MONITORS_CHUNK = 1 << 16 };

struct _JVMPI_RawMonitor {
	uint64_t magic; /* 0: destroyed */
	_Atomic uint32_t life; /* incremented by Destroy, because the record is reused */
	struct lock lock;
	_Atomic uintptr_t owner; /* pthread_self(); 0: nobody */
	_Atomic(JNIEnv *) owner_env;
	_Atomic uint32_t depth; /* the owner's */
	_Atomic uint32_t notified; /* incremented by NotifyAll */
	_Atomic uint32_t entering; /* threads that have reported contention */
	char *name;
	struct _JVMPI_RawMonitor *next; /* in the list of all, including free ones */
};

static struct {
	struct lock lock;
	struct _JVMPI_RawMonitor *_Atomic all;
	struct _JVMPI_RawMonitor *chunk;
	unsigned left;
} monitors;

static bool valid(JVMPI_RawMonitor m)
{
	return m && m->magic == MONITOR_MAGIC;
}

static bool mine(JVMPI_RawMonitor m)
{
	return valid(m) && atomic_load(&m->owner) == (uintptr_t)pthread_self();
}

/* Destroyed by another thread while the caller owned it. */
static bool is_destroyed_and_mine(JVMPI_RawMonitor m)
{
	for (JVMPI_RawMonitor one = atomic_load(&monitors.all); one; one = one->next)
		if (one == m)
			return !m->magic && atomic_load(&m->owner) == (uintptr_t)pthread_self();
	return false;
}

static JVMPI_RawMonitor record_new_locked(void)
{
	JVMPI_RawMonitor m;

	/* A destroyed monitor that is still owned is not reused. */
	for (m = atomic_load(&monitors.all); m; m = m->next)
		if (!m->magic && lock_try(&m->lock)) {
			lock_drop(&m->lock);
			return m;
		}
	if (!monitors.left) {
		monitors.chunk = low_alloc(MONITORS_CHUNK);
		if (!monitors.chunk)
			return NULL;
		monitors.left = MONITORS_CHUNK / sizeof(*m);
	}
	m = monitors.chunk++;
	monitors.left--;
	m->next = atomic_load(&monitors.all);
	atomic_store(&monitors.all, m);
	return m;
}

JVMPI_RawMonitor monitor_create(char *name)
{
	char *copy = strdup(name ? name : "");
	JVMPI_RawMonitor m;

	if (!copy)
		return NULL;
	lock_take(&monitors.lock);
	m = record_new_locked();
	if (m) {
		m->name = copy;
		m->magic = MONITOR_MAGIC;
	}
	lock_drop(&monitors.lock);
	if (!m)
		free(copy);
	return m;
}

/* The thread that reports. The name is copied: another thread may destroy it. Agents' own names begin with '_'. */
static struct thread *teller(JVMPI_RawMonitor m, jint type, char *name, size_t size)
{
	struct thread *t = any_agent_wants(type) ? thread_find(bridge_env()) : NULL;

	*name = 0;
	if (!t || t->raw)
		return NULL;
	lock_take(&monitors.lock);
	if (valid(m))
		snprintf(name, size, "%s", m->name);
	lock_drop(&monitors.lock);
	return *name == '_' ? NULL : t;
}

static bool report(JVMPI_RawMonitor m, jint type)
{
	JVMPI_Event e = {.event_type = type};
	char name[256];
	struct thread *t = teller(m, type, name, sizeof(name));

	if (!t)
		return false;
	e.u.raw_monitor.name = name;
	e.u.raw_monitor.id = m;
	t->raw = true;
	event_send_all(t, &e, GC_MAY);
	t->raw = false;
	return true;
}

static bool any_agent_wants_contention(void)
{
	return any_agent_wants(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER) ||
	       any_agent_wants(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED) ||
	       any_agent_wants(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
}

/*
 * Native code of a suspended thread continues to run. If it got a monitor, it would stop at its next call into the
 * JVM while owning the monitor, which its resumer may need: so it gives the monitor back and waits. false: the
 * monitor was destroyed meanwhile and is not owned.
 */
static bool monitor_get(JVMPI_RawMonitor m, uint32_t life)
{
	struct thread *t = thread_find(bridge_env());

	if (t)
		atomic_store(&t->raw_enters, m);
	for (;;) {
		lock_take(&m->lock);
		if (!t || !atomic_load(&t->suspended))
			break;
		lock_drop(&m->lock);
		thread_suspended_wait(t);
	}
	if (t)
		atomic_store(&t->raw_enters, NULL);
	if (!valid(m) || atomic_load(&m->life) != life) {
		lock_drop(&m->lock);
		return false;
	}
	atomic_store(&m->owner_env, t ? t->env : NULL);
	atomic_store(&m->owner, (uintptr_t)pthread_self());
	return true;
}

/* Another thread owns it, and somebody wants contention events. */
static bool contended_get(JVMPI_RawMonitor m, uint32_t life)
{
	bool got;

	/* Before the report: once it is known, the owner's exit must be reported as well. */
	atomic_fetch_add(&m->entering, 1);
	report(m, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER);
	got = monitor_get(m, life);
	atomic_fetch_sub(&m->entering, 1);
	if (!got)
		return false;
	m->depth++; /* the handler may enter and exit it */
	report(m, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED);
	return true;
}

void monitor_enter(JVMPI_RawMonitor m)
{
	uint32_t life;

	if (!valid(m))
		return;
	life = atomic_load(&m->life);
	if (!mine(m) && atomic_load(&m->owner) && any_agent_wants_contention())
		contended_get(m, life);
	else if (mine(m) || monitor_get(m, life))
		m->depth++;
}

static void monitor_give(JVMPI_RawMonitor m)
{
	m->depth = 0;
	atomic_store(&m->owner, 0);
	lock_drop(&m->lock);
}

void monitor_exit(JVMPI_RawMonitor m)
{
	bool waited_for;

	if ((!mine(m) && !is_destroyed_and_mine(m)) || --m->depth)
		return;
	waited_for = atomic_load(&m->entering);
	monitor_give(m);
	if (waited_for)
		report(m, JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* 0: no limit. Returns at once if the caller does not own it. */
void monitor_wait(JVMPI_RawMonitor m, jlong ms)
{
	struct thread *t = thread_find(bridge_env());
	uint32_t seen, depth, life;
	uint64_t end, now;

	if (is_destroyed_and_mine(m))
		monitor_give(m);
	if (!mine(m))
		return;
	life = atomic_load(&m->life);
	depth = m->depth;
	seen = atomic_load(&m->notified);
	ms = ms < 0 ? 0 : ms > 1000000000000 ? 1000000000000 : ms;
	end = now_ns() + (uint64_t)ms * 1000000;
	if (t)
		atomic_store(&t->raw_waits, m);
	monitor_give(m);
	while (atomic_load(&m->notified) == seen) {
		now = now_ns();
		if (ms && now >= end)
			break;
		futex_wait(&m->notified, seen, ms ? end - now : 0);
	}
	if (t)
		atomic_store(&t->raw_waits, NULL);
	if (monitor_get(m, life))
		m->depth = depth;
}

static void notify_all(JVMPI_RawMonitor m)
{
	atomic_fetch_add(&m->notified, 1);
	futex_wake_all(&m->notified);
}

void monitor_notify_all(JVMPI_RawMonitor m)
{
	if (mine(m))
		notify_all(m);
}

/*
 * If the caller owns it, it is exited, and waiting threads return without it; the record is reused. If another thread
 * owns it, the record is not reused until that thread exits it.
 */
void monitor_destroy(JVMPI_RawMonitor m)
{
	char *name;

	if (!valid(m))
		return;
	lock_take(&monitors.lock);
	name = m->name;
	m->name = NULL;
	m->magic = 0;
	atomic_fetch_add(&m->life, 1);
	lock_drop(&monitors.lock);
	free(name);
	notify_all(m);
	if (atomic_load(&m->owner) == (uintptr_t)pthread_self())
		monitor_give(m);
}

bool monitor_owned(void)
{
	uintptr_t self = (uintptr_t)pthread_self();

	for (JVMPI_RawMonitor m = atomic_load(&monitors.all); m; m = m->next)
		if (m->magic && atomic_load(&m->owner) == self)
			return true;
	return false;
}

bool monitor_keeps_out(const struct thread *t)
{
	enum { CHAIN = 64 };

	for (int i = 0; t && i < CHAIN; i++) {
		JVMPI_RawMonitor m = atomic_load(&t->raw_enters);

		if (!m || mine(m))
			return m;
		t = atomic_load(&m->owner) ? thread_find(atomic_load(&m->owner_env)) : NULL;
	}
	return false;
}

size_t monitors_list(struct raw_monitor *ret, size_t max)
{
	size_t n = 0;

	lock_take(&monitors.lock);
	for (JVMPI_RawMonitor m = atomic_load(&monitors.all); m && n < max; m = m->next) {
		if (!valid(m) || !atomic_load(&m->owner))
			continue;
		ret[n] = (struct raw_monitor){m, atomic_load(&m->owner_env), atomic_load(&m->depth), ""};
		snprintf(ret[n++].name, sizeof(ret->name), "%s", m->name);
	}
	lock_drop(&monitors.lock);
	return n;
}
