#include "sampler/engine/suspend/suspend_frozen.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

/* Not FUTEX_PRIVATE_FLAG: the other side is another process. limit_ns: 0: none. */
static void wait_for_change(_Atomic uint32_t *word, uint32_t from, uint64_t limit_ns)
{
	const struct timespec limit = clock_timespec(limit_ns);

	syscall(SYS_futex, word, FUTEX_WAIT, from, limit_ns ? &limit : NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* --- The tracing side */

/* False: the time is up. */
static bool wait_for_answer(struct suspend_frozen *f, uint64_t until_ns)
{
	for (;;) {
		uint32_t answered = atomic_load_explicit(&f->box->answered, memory_order_acquire);
		uint64_t now;

		if (answered == f->asked)
			return true;
		now = clock_monotonic_ns();
		if (now >= until_ns)
			return false;
		wait_for_change(&f->box->answered, answered, until_ns - now);
	}
}

size_t suspend_frozen_take(struct suspend_frozen *f, pid_t tid, uint8_t *dst, size_t max, uint64_t until_ns)
{
	size_t len;

	if (atomic_load_explicit(&f->box->answered, memory_order_acquire) != f->asked)
		return 0;
	atomic_store_explicit(&f->box->tid, tid, memory_order_relaxed);
	atomic_store_explicit(&f->box->asked, ++f->asked, memory_order_release);
	wake(&f->box->asked);
	if (!wait_for_answer(f, until_ns))
		return 0;
	len = atomic_load_explicit(&f->box->len, memory_order_relaxed);
	if (len > max || len > sizeof(f->box->bytes))
		return 0;
	memcpy(dst, f->box->bytes, len);
	return len;
}

/* --- The owner */

static void answer(struct suspend_answers *a, uint32_t question)
{
	pid_t tid = atomic_load_explicit(&a->box->tid, memory_order_relaxed);
	size_t len = a->frozen.copy(a->frozen.ctx, tid, a->box->bytes, sizeof(a->box->bytes));

	atomic_store_explicit(&a->box->len, (uint32_t)len, memory_order_relaxed);
	atomic_store_explicit(&a->box->answered, question, memory_order_release);
	wake(&a->box->answered);
}

/* A thread of the target is stopped meanwhile. */
static void *answers_main(void *arg)
{
	struct suspend_answers *a = arg;
	uint32_t last = 0, asked;

	engine_thread_raise_priority();
	for (;;) {
		asked = atomic_load_explicit(&a->box->asked, memory_order_acquire);
		if (a->ending)
			return NULL;
		if (asked == last)
			wait_for_change(&a->box->asked, asked, 0);
		else
			answer(a, last = asked);
	}
}

int suspend_answers_start(struct suspend_answers *a, struct err *err)
{
	int r = engine_thread_start(&a->thread, "jsampler-frozen", 0, answers_main, a);

	if (r < 0)
		return err_set(err, r, "cannot start a thread: %s", strerror(-r));
	a->started = true;
	return 0;
}

void suspend_answers_end(struct suspend_answers *a)
{
	if (!a->started)
		return;
	a->ending = true;
	atomic_fetch_add(&a->box->asked, 1); /* so that it does not begin to wait */
	wake(&a->box->asked);
	pthread_join(a->thread, NULL);
	a->started = false;
}
