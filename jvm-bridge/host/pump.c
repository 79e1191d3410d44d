#include "jvm-bridge/host/pump.h"

#include "jvm-bridge/host/thread.h"

#define BATCH_NS 250000000 /* the longest delay of JS_GC_PAUSE */
#define AGAIN_NS 20000000 /* until what could not be done is tried again */

static struct {
	const struct pump_work *work;
	struct lock start_lock;
	bool started;
	_Atomic uint32_t wake; /* changes when the pump is woken */
	_Atomic bool hurry; /* some work cannot wait for a batch */
	_Atomic bool asleep; /* the pump waits without a timeout */
	bool again; /* something could not be done; only used by the pump */
} pump;

void pump_set_work(const struct pump_work *w)
{
	pump.work = w;
}

static void wake(void)
{
	atomic_fetch_add(&pump.wake, 1);
	futex_wake_all(&pump.wake);
}

void pump_hurry(void)
{
	if (!atomic_exchange(&pump.hurry, true))
		wake();
}

void pump_notify(void)
{
	if (atomic_exchange(&pump.asleep, false))
		wake();
}

void pump_shutdown(void)
{
	wake();
}

static bool has_work(void)
{
	return atomic_load(&pump.hurry) || pump.again || pump.work->is_due();
}

/* Either pump_notify() sees that the pump sleeps, or the pump sees the work that pump_notify() announces. */
static void wait_for_work(void)
{
	uint32_t now = atomic_load(&pump.wake);

	atomic_store(&pump.asleep, true);
	if (!has_work() && !bridge_is_ending())
		futex_wait(&pump.wake, now, 0);
	atomic_store(&pump.asleep, false);
}

static void pump_main(void *arg)
{
	struct thread *t = thread_current();

	(void)arg;
	if (!t)
		return;
	t->system = true;
	while (!bridge_is_ending()) {
		uint32_t now = atomic_load(&pump.wake);

		if (!atomic_load(&pump.hurry))
			futex_wait(&pump.wake, now, pump.again ? AGAIN_NS : BATCH_NS);
		if (!has_work()) {
			wait_for_work();
			continue;
		}
		atomic_store(&pump.hurry, false); /* before looking at the work */
		if ((*t->env)->PushLocalFrame(t->env, 32)) {
			(*t->env)->ExceptionClear(t->env);
			continue;
		}
		pump.again = pump.work->run(t);
		(*t->env)->PopLocalFrame(t->env, NULL);
	}
}

bool pump_start(void)
{
	bool ok;

	/* Not held across thread_create(), which runs Java code and sends THREAD_START. */
	lock_take(&pump.start_lock);
	ok = pump.started;
	pump.started = true;
	lock_drop(&pump.start_lock);
	if (ok)
		return true;
	ok = thread_create("jsampler bridge", 5, pump_main, NULL) == JNI_OK;
	if (!ok)
		pump.started = false;
	return ok;
}

bool pump_is_started(void)
{
	return pump.started;
}
