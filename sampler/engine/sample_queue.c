#include "sampler/engine/sample_queue.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Messages lie one after the other in a ring, each after a header of 8 bytes. A message that does not fit before the
 * ring's end starts at its beginning; a header with SKIP marks the gap. `head` and `tail` count bytes and never wrap.
 */
enum { HEADER = 8, START_OVER = 8 << 20, START_OVER_MESSAGES = 64, START_OVER_SMALL = 1024 };
#define SKIP UINT64_MAX

struct sample_queue {
	uint8_t *data;
	size_t size;
	/* Each side's own position is on a cache line of its own. */
	_Alignas(64) _Atomic uint64_t head; /* written by the producer */
	uint64_t pending; /* where the message being written begins */
	size_t longest; /* longest message so far, with its header */
	_Alignas(64) _Atomic uint64_t tail; /* written by the consumer */
};

struct sample_queue *sample_queue_new(size_t bytes)
{
	struct sample_queue *q;

	if (bytes < 4096 || bytes & (bytes - 1))
		return NULL;
	q = aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64);
	if (!q)
		return NULL;
	memset(q, 0, sizeof(*q));
	/* Pages take memory only once they are used. */
	q->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (q->data == MAP_FAILED) {
		free(q);
		return NULL;
	}
	q->size = bytes;
	return q;
}

void sample_queue_free(struct sample_queue *q)
{
	if (!q)
		return;
	munmap(q->data, q->size);
	free(q);
}

static size_t padded(size_t len)
{
	return HEADER + ((len + 7) & ~(size_t)7);
}

static void put_header(struct sample_queue *q, uint64_t pos, uint64_t value)
{
	memcpy(q->data + (pos & (q->size - 1)), &value, sizeof(value));
}

/*
 * While the consumer keeps up, the same part of the ring is reused, because touching a new page costs more than most
 * messages. Until the consumer has taken the message that starts over, there is only as much room as was used so far.
 * That has to be enough for a while: for 1,024 messages of the longest size, or fewer if that is large.
 */
static bool starts_over(const struct sample_queue *q, uint64_t head, uint64_t tail, size_t len)
{
	size_t at = head & (q->size - 1), enough = q->longest * START_OVER_SMALL;

	if (enough > START_OVER)
		enough = START_OVER;
	if (enough < len * START_OVER_MESSAGES)
		enough = len * START_OVER_MESSAGES;
	if (enough > q->size / 2)
		enough = q->size / 2;
	return head == tail && at >= enough;
}

void *sample_queue_reserve(struct sample_queue *q, size_t len)
{
	uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	size_t at = head & (q->size - 1), skip = 0;

	if (len > q->size / 4)
		return NULL;
	if (q->longest < padded(len))
		q->longest = padded(len);
	if (q->size - at < padded(len) || starts_over(q, head, tail, padded(len)))
		skip = q->size - at;
	if (head + skip + padded(len) - tail > q->size)
		return NULL;
	if (skip)
		put_header(q, head, SKIP);
	q->pending = head + skip;
	return q->data + (q->pending & (q->size - 1)) + HEADER;
}

void sample_queue_commit(struct sample_queue *q, size_t len)
{
	put_header(q, q->pending, len);
	atomic_store_explicit(&q->head, q->pending + padded(len), memory_order_release);
}

static uint64_t get_header(const struct sample_queue *q, uint64_t pos)
{
	uint64_t v;

	memcpy(&v, q->data + (pos & (q->size - 1)), sizeof(v));
	return v;
}

const void *sample_queue_peek(struct sample_queue *q, size_t *ret_len)
{
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);
	uint64_t len;

	if (head == tail)
		return NULL;
	len = get_header(q, tail);
	if (len == SKIP) {
		tail += q->size - (tail & (q->size - 1));
		atomic_store_explicit(&q->tail, tail, memory_order_release);
		len = get_header(q, tail);
	}
	*ret_len = len;
	return q->data + (tail & (q->size - 1)) + HEADER;
}

void sample_queue_release(struct sample_queue *q)
{
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	atomic_store_explicit(&q->tail, tail + padded(get_header(q, tail)), memory_order_release);
}

void sample_queue_drop(struct sample_queue *q)
{
	atomic_store_explicit(&q->tail, atomic_load_explicit(&q->head, memory_order_acquire), memory_order_release);
	madvise(q->data, q->size, MADV_DONTNEED);
}

bool sample_queue_empty(const struct sample_queue *q)
{
	return atomic_load_explicit(&q->head, memory_order_acquire) ==
	       atomic_load_explicit(&q->tail, memory_order_acquire);
}
