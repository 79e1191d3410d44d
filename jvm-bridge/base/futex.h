#ifndef JS_BRIDGE_FUTEX_H
#define JS_BRIDGE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Locks for the libraries that are loaded into JVMs. Those of libc moved between libraries and got new symbol
 * versions (glibc 2.34); a futex is the same everywhere. A thread that waits on one is in native state, so the JVM
 * never waits for it.
 */
struct lock {
	_Atomic uint32_t v; /* 0 free, 1 held, 2 held with waiters */
};

/* Returns when *at is no longer `seen`, when woken, or after `ns` (0: no limit); may also return spuriously. */
static inline void futex_wait(_Atomic uint32_t *at, uint32_t seen, uint64_t ns)
{
	struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	syscall(SYS_futex, at, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, ns ? &limit : NULL, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *at)
{
	syscall(SYS_futex, at, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

static inline bool lock_try(struct lock *l)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong(&l->v, &free, 1);
}

static inline void lock_take(struct lock *l)
{
	if (lock_try(l))
		return;
	while (atomic_exchange(&l->v, 2) != 0)
		futex_wait(&l->v, 2, 0);
}

static inline void lock_drop(struct lock *l)
{
	if (atomic_exchange(&l->v, 0) == 2)
		syscall(SYS_futex, &l->v, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
