#include "jvm-bridge/host/told.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/thread.h"

enum { TOLD = 1, TELLING = 1 << AGENTS_MAX, KNOWN = 1 << 2 * AGENTS_MAX };

#define LIMIT_NS 1000000000ull

void told_wait(struct told *what, const struct agent *a, const struct thread *t)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + LIMIT_NS, now;
	uint32_t bits;

	if ((t && t->inside) || monitor_owned())
		return;
	while ((bits = atomic_load(&what->bits)) & (uint32_t)TELLING << a->index) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= end || atomic_load(&the_bridge.ending)) {
			/* The next thread need not wait that long. */
			told_end(what, a, true);
			return;
		}
		futex_wait(&what->bits, bits, end - now);
	}
}

bool told_begin(struct told *what, const struct agent *a, const struct thread *t)
{
	uint32_t bits = atomic_load(&what->bits);

	for (;;) {
		if (bits & (uint32_t)TOLD << a->index)
			return false;
		if (bits & (uint32_t)TELLING << a->index)
			break;
		if (atomic_compare_exchange_weak(&what->bits, &bits, bits | (uint32_t)TELLING << a->index))
			return true;
	}
	told_wait(what, a, t);
	return false;
}

void told_end(struct told *what, const struct agent *a, bool sent)
{
	uint32_t bits = atomic_load(&what->bits), next;

	do {
		if (!(bits & (uint32_t)TELLING << a->index))
			return; /* a waiter gave up, or the record is reused by now */
		next = (bits & ~((uint32_t)TELLING << a->index)) | (sent ? (uint32_t)TOLD << a->index : 0);
	} while (!atomic_compare_exchange_weak(&what->bits, &bits, next));
	futex_wake_all(&what->bits);
}

bool told_is_known(const struct told *what, const struct agent *a)
{
	return atomic_load(&what->bits) & (uint32_t)(TOLD | KNOWN) << a->index;
}

bool told_know(struct told *what, const struct agent *a)
{
	return !(atomic_fetch_or(&what->bits, (uint32_t)KNOWN << a->index) & (uint32_t)(TOLD | KNOWN) << a->index);
}

void told_forget(struct told *what)
{
	atomic_store(&what->bits, 0);
	futex_wake_all(&what->bits);
}
