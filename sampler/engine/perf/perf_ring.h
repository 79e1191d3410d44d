#ifndef JS_ENGINE_PERF_RING_H
#define JS_ENGINE_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

/*
 * The memory that one CPU's events write their records into, shared with the kernel
 * (struct perf_event_mmap_page in linux/perf_event.h). One reader.
 */
struct perf_ring {
	void *base; /* header page, then `size` bytes; NULL: not mapped */
	size_t map_len;
	uint64_t *head, *tail; /* in the header page */
	uint8_t *data;
	size_t size; /* a power of two */
	uint8_t *bounce; /* a record that wraps around, made whole; 64 KiB */
};

/* Maps the ring of `fd`. `size`: bytes of data, a power of two of at least a page. */
int perf_ring_open(struct perf_ring *r, int fd, size_t size);
/* A ring over memory of the caller's, for tests. `head` and `tail` count bytes, without wrapping. */
int perf_ring_init(struct perf_ring *r, void *data, size_t size, uint64_t *head, uint64_t *tail);
void perf_ring_close(struct perf_ring *r);

/* What the kernel has written and nobody has read. */
uint64_t perf_ring_used(const struct perf_ring *r);

/* 0 to go on; anything else ends the reading after this record, and is returned. */
typedef int perf_ring_fn(void *ctx, const void *record, size_t size);

/*
 * Hands over the records that are there, oldest first, each whole; room is given back to the kernel
 * every few records. -EBADMSG: sizes make no sense; what was there is dropped.
 */
int perf_ring_drain(struct perf_ring *r, perf_ring_fn *fn, void *ctx);

#endif
