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
	uint8_t *bounce; /* for a record that wraps around; 64 KiB */
};

/* Maps the ring of `fd`. `size`: bytes of data, a power of two of at least a page. */
int perf_ring_open(struct perf_ring *r, int fd, size_t size);
/* A ring in the caller's memory, for tests. `head` and `tail` count bytes and never wrap. */
int perf_ring_init(struct perf_ring *r, void *data, size_t size, uint64_t *head, uint64_t *tail);
void perf_ring_close(struct perf_ring *r);

/* Maps a new ring in place of the present one, whose content is lost. All events that wrote to it have to be
 * redirected. On failure the ring stays empty. */
int perf_ring_renew(struct perf_ring *r, int fd);

/* Bytes written by the kernel, as far as it has published them. */
uint64_t perf_ring_head(const struct perf_ring *r);

/* Bytes that have not been read. */
uint64_t perf_ring_used(const struct perf_ring *r);

/* 0: continue; anything else is returned after this record. */
typedef int perf_ring_fn(void *ctx, const void *record, size_t size);

/*
 * Calls `fn` for each record, oldest first; the kernel gets the room back after every few records. -EBADMSG: a record
 * size made no sense, and the ring's content was dropped.
 */
int perf_ring_drain(struct perf_ring *r, perf_ring_fn *fn, void *ctx);

/*
 * Calls `fn` for what lies beyond the published end, where the kernel writes next, until `fn` returns something other
 * than 0. These may be records that were never published, or remains of older ones; `fn` must tell them apart. The ring
 * is not changed.
 */
void perf_ring_look_beyond(const struct perf_ring *r, perf_ring_fn *fn, void *ctx);

#endif
