/*
 * Lets events through to an agent. The gate is shut between the return of GC_START's handler and GC_FINISH: events of
 * other threads wait (in JVMs of the JVMPI era a collection stopped everything), unless the thread is already in the
 * agent or owns a raw monitor, because then another thread may be waiting for it. The gate is not shut any earlier,
 * because that handler takes locks, and their owners may be waiting for a thread that would wait here while it holds
 * a lock of the JVM.
 *
 * No wait for what an agent does is unlimited. Where one would be needed before an object is reported as freed, the
 * report is left for a later window.
 */
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/pump.h"
#include "jvm-bridge/host/thread.h"

#define QUIET_NS 100000000ull
#define END_NS 2000000000ull
#define SLICE_NS 10000000ull

/*
 * Held briefly, never across a call: when DisableGC has taken it once, no report based on older state is in progress.
 */
static struct lock freeing;

static bool passes(struct agent *a, struct thread *t)
{
	return (t && t->inside) || atomic_load(&a->window_owner) == t || atomic_load(&the_bridge.ender) == t ||
	       monitor_owned();
}

/* The rest of an open window is still sent: the agent may hold locks until GC_FINISH. */
static bool is_over(struct agent *a, struct thread *t, bool requested)
{
	return atomic_load(&the_bridge.ending) && atomic_load(&the_bridge.ender) != t && !requested &&
	       !(t && atomic_load(&a->window_owner) == t);
}

bool gate_disabled(const struct thread *t)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (atomic_load(&the_bridge.agents[i].disabled) > (t ? t->gc_off[i] : 0))
			return true;
	return false;
}

static void look_for_stuck(struct thread *t, void *arg)
{
	bool disables = false;

	for (unsigned i = 0; i < AGENTS_MAX; i++)
		disables |= atomic_load(&t->gc_off[i]) != 0;
	if (disables && monitor_keeps_out(t))
		*(bool *)arg = true;
}

bool gate_disabled_for_caller(void)
{
	bool stuck = false;

	thread_each(look_for_stuck, &stuck);
	return stuck;
}

/* If true, the lock is held. */
static bool frees_begin(const struct thread *t)
{
	lock_take(&freeing);
	if (!gate_disabled(t))
		return true;
	lock_drop(&freeing);
	return false;
}

bool gate_free(const struct thread *t, void (*f)(void *), void *arg)
{
	if (!frees_begin(t))
		return false;
	f(arg);
	lock_drop(&freeing);
	return true;
}

static void gc_not_drop(struct agent *a, enum gc_mode mode)
{
	if (mode == GC_NOT && atomic_fetch_sub(&a->gc_not, 1) == 1 && atomic_load(&a->turn))
		futex_wake_all(&a->gc_not);
}

static void entering_drop(struct agent *a)
{
	if (atomic_fetch_sub(&a->entering, 1) == 1 && (atomic_load(&a->window) || atomic_load(&the_bridge.ending)))
		futex_wake_all(&a->entering);
}

bool gate_enter(struct agent *a, struct thread *t, enum gc_mode mode, bool requested)
{
	for (;;) {
		bool over, open;

		if (mode == GC_NOT)
			atomic_fetch_add(&a->gc_not, 1);
		atomic_fetch_add(&a->entering, 1);
		over = is_over(a, t, requested);
		open = !over && (!atomic_load(&a->window) || passes(a, t));
		if (open && (mode != GC_FREES || frees_begin(t))) {
			atomic_fetch_add(&a->inside, 1);
			return true;
		}
		entering_drop(a);
		gc_not_drop(a, mode);
		if (open || over)
			return false;
		futex_wait(&a->window, 1, 0);
	}
}

void gate_passed(struct agent *a, enum gc_mode mode)
{
	if (mode == GC_FREES)
		lock_drop(&freeing);
	entering_drop(a);
}

void gate_leave(struct agent *a, enum gc_mode mode)
{
	atomic_fetch_sub(&a->inside, 1);
	if (atomic_load(&the_bridge.ending))
		futex_wake_all(&a->inside);
	gc_not_drop(a, mode);
}

/* A thread that saw no window reaches the agent before the window opens; nothing on that path blocks. */
static void entering_wait(struct agent *a)
{
	for (uint32_t n; (n = atomic_load(&a->entering)) && !atomic_load(&the_bridge.dead);)
		futex_wait(&a->entering, n, SLICE_NS);
}

void gate_shut(struct agent *a, struct thread *t)
{
	atomic_store(&a->window_owner, t);
	atomic_store(&a->window, 1);
	entering_wait(a);
}

void gate_open(struct agent *a)
{
	atomic_store(&a->window, 0);
	atomic_store(&a->window_owner, NULL);
	futex_wake_all(&a->window);
}

bool gate_quiet(struct agent *a)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + QUIET_NS;
	uint32_t n;

	while ((n = atomic_load(&a->gc_not)) && clock_ns(CLOCK_MONOTONIC) < end && !atomic_load(&the_bridge.ending))
		futex_wait(&a->gc_not, n, SLICE_NS);
	return !n;
}

bool gate_turn_take(struct agent *a, struct thread *t)
{
	struct thread *nobody = NULL;

	if (!atomic_compare_exchange_strong(&a->turn, &nobody, t))
		return false;
	if (!atomic_load(&the_bridge.ending))
		return true;
	gate_turn_drop(a);
	return false;
}

void gate_turn_drop(struct agent *a)
{
	atomic_store(&a->turn, NULL);
	atomic_fetch_add(&a->turns, 1);
	futex_wake_all(&a->turns);
}

bool gate_turn_wait(struct agent *a, uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ns;

	for (;;) {
		uint32_t seen = atomic_load(&a->turns);

		if (!atomic_load(&a->turn))
			return true;
		if (clock_ns(CLOCK_MONOTONIC) >= end)
			return false;
		futex_wait(&a->turns, seen, SLICE_NS);
	}
}

void gc_disable(struct agent *a)
{
	struct thread *t = thread_current();

	if (!t)
		return;
	for (;;) {
		atomic_fetch_add(&a->disabled, 1);
		if (!atomic_load(&a->window) || passes(a, t) || atomic_load(&the_bridge.ending))
			break;
		atomic_fetch_sub(&a->disabled, 1);
		futex_wait(&a->window, 1, 0);
	}
	t->gc_off[a->index]++;
	lock_take(&freeing);
	lock_drop(&freeing);
}

static void disabled_drop(struct agent *a)
{
	if (atomic_fetch_sub(&a->disabled, 1) == 1)
		pump_hurry(); /* what it could not report */
}

void gc_enable(struct agent *a)
{
	struct thread *t = thread_current();

	if (!t || !t->gc_off[a->index])
		return;
	t->gc_off[a->index]--;
	disabled_drop(a);
}

void gc_enable_all(struct thread *t)
{
	for (unsigned i = 0; i < AGENTS_MAX; i++)
		for (; t->gc_off[i]; t->gc_off[i]--)
			disabled_drop(&the_bridge.agents[i]);
}

/* Other threads are in handlers, or have a window open. */
static bool is_busy(const struct thread *t)
{
	unsigned n = atomic_load(&the_bridge.n_agents), handlers = 0;
	bool turns = false;

	for (unsigned i = 0; i < n; i++) {
		struct thread *turn = atomic_load(&the_bridge.agents[i].turn);

		handlers += atomic_load(&the_bridge.agents[i].inside);
		turns |= turn && turn != t;
	}
	return turns || handlers > (t ? t->inside : 0);
}

void gate_end(struct thread *t)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + END_NS;
	unsigned n = atomic_load(&the_bridge.n_agents);

	atomic_store(&the_bridge.ender, t);
	atomic_store(&the_bridge.ending, true);
	for (unsigned i = 0; i < n; i++)
		futex_wake_all(&the_bridge.agents[i].window);
	for (unsigned i = 0; i < n; i++)
		entering_wait(&the_bridge.agents[i]);
	while (is_busy(t) && clock_ns(CLOCK_MONOTONIC) < end)
		for (unsigned i = 0; i < n; i++)
			futex_wait(&the_bridge.agents[i].inside, atomic_load(&the_bridge.agents[i].inside),
				   SLICE_NS / 10);
}
