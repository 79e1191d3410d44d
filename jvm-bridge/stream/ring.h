#ifndef JS_BRIDGE_RING_H
#define JS_BRIDGE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bounded queue of records from many threads to one, without locks: a Java thread that puts a record
 * never waits, not even for one that was descheduled in the midst of it. A record is u32 size and the rest,
 * as on the wire; size 0 in the ring means: not written yet, so the reader clears what it has read.
 */
enum { RING_SIZE = 4 << 20 };

struct ring {
	unsigned char *data; /* RING_SIZE; memory is taken as it is used */
	_Atomic uint64_t head; /* reserved so far */
	_Atomic uint64_t tail; /* read so far */
};

bool ring_init(struct ring *r); /* false: no memory */
/* Size is a multiple of 8, at most RING_SIZE / 2. false: full. */
bool ring_put(struct ring *r, const void *record, uint32_t size);
/* The oldest record, or NULL. It stays valid until ring_drop(). */
const void *ring_peek(struct ring *r, uint32_t *size);
void ring_drop(struct ring *r, uint32_t size);
size_t ring_used(const struct ring *r);
void ring_reset(struct ring *r); /* with nobody else in it; gives the memory back */

#endif
