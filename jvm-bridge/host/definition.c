#include "jvm-bridge/host/definition.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/thread.h"

enum { DEFINED = 1, DEFINING = 1 << AGENTS_MAX, ID_GIVEN = 1 << 2 * AGENTS_MAX };

#define LIMIT_NS 1000000000ull

void definition_wait(struct definition *what, const struct agent *a, const struct thread *t)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + LIMIT_NS, now;
	uint32_t bits;

	if ((t && t->inside) || monitor_owned())
		return;
	while ((bits = atomic_load(&what->bits)) & (uint32_t)DEFINING << a->index) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= end || atomic_load(&the_bridge.ending)) {
			/* The next thread need not wait that long. */
			definition_end(what, a, true);
			return;
		}
		futex_wait(&what->bits, bits, end - now);
	}
}

bool definition_begin(struct definition *what, const struct agent *a, const struct thread *t)
{
	uint32_t bits = atomic_load(&what->bits);

	for (;;) {
		if (bits & (uint32_t)DEFINED << a->index)
			return false;
		if (bits & (uint32_t)DEFINING << a->index)
			break;
		if (atomic_compare_exchange_weak(&what->bits, &bits, bits | (uint32_t)DEFINING << a->index))
			return true;
	}
	definition_wait(what, a, t);
	return false;
}

void definition_end(struct definition *what, const struct agent *a, bool sent)
{
	uint32_t bits = atomic_load(&what->bits), next;

	do {
		if (!(bits & (uint32_t)DEFINING << a->index))
			return; /* a waiter gave up, or the record is reused by now */
		next = (bits & ~((uint32_t)DEFINING << a->index)) | (sent ? (uint32_t)DEFINED << a->index : 0);
	} while (!atomic_compare_exchange_weak(&what->bits, &bits, next));
	futex_wake_all(&what->bits);
}

bool definition_is_known(const struct definition *what, const struct agent *a)
{
	return atomic_load(&what->bits) & (uint32_t)(DEFINED | ID_GIVEN) << a->index;
}

bool definition_id_given(struct definition *what, const struct agent *a)
{
	return !(atomic_fetch_or(&what->bits, (uint32_t)ID_GIVEN << a->index) & (uint32_t)(DEFINED | ID_GIVEN)
											<< a->index);
}

void definition_reset(struct definition *what)
{
	atomic_store(&what->bits, 0);
	futex_wake_all(&what->bits);
}
