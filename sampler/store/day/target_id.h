#ifndef JS_STORE_TARGET_ID_H
#define JS_STORE_TARGET_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sampler/store/day/query.h"

/*
 * The history identifies a program by boot, PID and start in ticks (proc(5): USER_HZ). For the first program of a
 * process, the start is that of the process, since boot. The kernel does not say when a later program was executed, so
 * its start is when sampling of it began, since 1970.
 */
#define TARGET_ID_TICKS UINT64_C(100) /* in a second */

static inline bool target_id_is_same(const struct store_target *a, const struct store_target *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks && strcmp(a->boot_id, b->boot_id) == 0;
}

static inline uint64_t target_id_later_start(uint64_t since_ns)
{
	return since_ns / (UINT64_C(1000000000) / TARGET_ID_TICKS);
}

/* No host runs for half the time since 1970. */
static inline bool target_id_is_later(uint64_t start_ticks, uint64_t now_ns)
{
	return start_ticks > target_id_later_start(now_ns) / 2;
}

#endif
