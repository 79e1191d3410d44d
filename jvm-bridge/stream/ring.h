#ifndef JS_BRIDGE_RING_H
#define JS_BRIDGE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bounded lock-free queue of records, many writers, one reader. A Java thread never waits to put a record, not even
 * for another thread that was descheduled while writing one. A record is a u32 size followed by the rest, as on the
 * wire; size 0 means "not yet written", so the reader clears what it has read.
 */
enum { RING_SIZE = 4 << 20 };

struct ring {
	unsigned char *data; /* RING_SIZE; pages are allocated when first used */
	_Atomic uint64_t head; /* bytes reserved so far */
	_Atomic uint64_t tail; /* bytes read so far */
};

bool ring_init(struct ring *r); /* false: no memory */
/* `size` is a multiple of 8, at most RING_SIZE / 2. false: full. */
bool ring_put(struct ring *r, const void *record, uint32_t size);
/* The oldest record, or NULL. Valid until ring_drop(). */
const void *ring_peek(struct ring *r, uint32_t *size);
void ring_drop(struct ring *r, uint32_t size);
size_t ring_used(const struct ring *r);
void ring_reset(struct ring *r); /* no other thread may be using it; returns the memory */

#endif
