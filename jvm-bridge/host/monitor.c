/*
 * Raw monitors. Not JVMTI's: those answer a stranger's exit with an error, end a wait on interrupt, and
 * cannot be listed. Who waits here is in native state.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/thread.h"

#define MONITOR_MAGIC 0x4a53424d4f4e4954ull
enum { MONITORS_CHUNK = 1 << 16 };

struct _JVMPI_RawMonitor {
	uint64_t magic; /* 0: destroyed */
	_Atomic uint32_t life; /* counts Destroy: the record is used again */
	struct lock lock;
	_Atomic uintptr_t owner; /* pthread_self(); 0: nobody */
	uint32_t depth; /* of the owner */
	_Atomic uint32_t notified; /* counts NotifyAll */
	char *name;
	struct _JVMPI_RawMonitor *next; /* of all, free ones too */
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

/* Destroyed by another thread while this one had it. */
static bool left_to_me(JVMPI_RawMonitor m)
{
	for (JVMPI_RawMonitor one = atomic_load(&monitors.all); one; one = one->next)
		if (one == m)
			return !m->magic && atomic_load(&m->owner) == (uintptr_t)pthread_self();
	return false;
}

static JVMPI_RawMonitor record_new_locked(void)
{
	JVMPI_RawMonitor m;

	/* One whose owner has not let go of it yet stays his. */
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

/*
 * Native code of a suspended thread runs on. One that got a monitor so would stop at its next call into the JVM
 * with the monitor in hand, which the thread that should resume it may need: it gives it back and waits.
 * false: that monitor was destroyed meanwhile, and nobody has it.
 */
static bool monitor_get(JVMPI_RawMonitor m, uint32_t life)
{
	struct thread *t = thread_find(bridge_env());

	for (;;) {
		lock_take(&m->lock);
		if (!t || !atomic_load(&t->suspended))
			break;
		lock_drop(&m->lock);
		thread_suspended_wait(t);
	}
	if (!valid(m) || atomic_load(&m->life) != life) {
		lock_drop(&m->lock);
		return false;
	}
	atomic_store(&m->owner, (uintptr_t)pthread_self());
	return true;
}

void monitor_enter(JVMPI_RawMonitor m)
{
	uint32_t life;

	if (!valid(m))
		return;
	life = atomic_load(&m->life);
	if (mine(m) || monitor_get(m, life))
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
	if ((mine(m) || left_to_me(m)) && --m->depth == 0)
		monitor_give(m);
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* 0: for ever. By a stranger: returns at once. */
void monitor_wait(JVMPI_RawMonitor m, jlong ms)
{
	uint32_t seen, depth, life;
	uint64_t end, now;

	if (left_to_me(m))
		monitor_give(m);
	if (!mine(m))
		return;
	life = atomic_load(&m->life);
	depth = m->depth;
	seen = atomic_load(&m->notified);
	ms = ms < 0 ? 0 : ms > 1000000000000 ? 1000000000000 : ms;
	end = now_ns() + (uint64_t)ms * 1000000;
	monitor_give(m);
	while (atomic_load(&m->notified) == seen) {
		now = now_ns();
		if (ms && now >= end)
			break;
		futex_wait(&m->notified, seen, ms ? end - now : 0);
	}
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
 * Exits it first, and who waits for it goes on without; its record is used again by the next one. Another owner keeps the
 * record until he exits.
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
