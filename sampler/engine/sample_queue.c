#include "sampler/engine/sample_queue.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Messages lie one after the other in a ring, each after a header of 8 bytes. A message that does not fit before the
 * ring's end starts at its beginning; a header with SKIP marks the gap. `head` and `tail` count bytes and never wrap.
 * Each side keeps its own position, and reads only the other's from the mapping, which may be shared.
 */
enum { HEADER = 8, PAGE = 4096, START_OVER = 8 << 20, START_OVER_MESSAGES = 64, START_OVER_SMALL = 1024, ENDS = 4096 };
#define SKIP UINT64_MAX

/* At the beginning of the mapping; the ring follows at ENDS. Each position is on a cache line of its own. */
struct ends {
	_Alignas(64) _Atomic uint64_t head; /* written by the producer */
	_Alignas(64) _Atomic uint64_t tail; /* written by the consumer */
};

struct sample_queue {
	struct ends *ends;
	uint8_t *data;
	size_t size;
	struct { /* the producer's */
		_Alignas(64) uint64_t head;
		uint64_t pending; /* where the message being written begins */
		size_t reserved; /* its room */
		size_t longest; /* longest message so far, with its header */
		size_t touched; /* bytes of the ring, from its beginning, that have pages */
		size_t reuse; /* where it starts over if messages are large, */
		size_t expected; /* or later, since that many bytes are to have room together */
	} in;
	struct { /* the consumer's */
		_Alignas(64) uint64_t tail;
		size_t taken; /* length of the message being read, with its header */
	} out;
};

static struct sample_queue *new_queue(size_t bytes, int how)
{
	struct sample_queue *q;
	void *map;

	if (bytes < 4096 || bytes & (bytes - 1))
		return NULL;
	q = aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64);
	if (!q)
		return NULL;
	/* Pages take memory only once they are used. */
	map = mmap(NULL, ENDS + bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		free(q);
		return NULL;
	}
	*q = (struct sample_queue){.ends = map, .data = (uint8_t *)map + ENDS, .size = bytes};
	q->in.reuse = START_OVER;
	return q;
}

struct sample_queue *sample_queue_new(size_t bytes)
{
	return new_queue(bytes, MAP_PRIVATE);
}

struct sample_queue *sample_queue_new_shared(size_t bytes)
{
	return new_queue(bytes, MAP_SHARED);
}

void sample_queue_free(struct sample_queue *q)
{
	if (!q)
		return;
	munmap(q->ends, ENDS + q->size);
	free(q);
}

void sample_queue_reuse(struct sample_queue *q, size_t bytes)
{
	q->in.reuse = bytes < START_OVER ? bytes : START_OVER;
}

void sample_queue_expect(struct sample_queue *q, size_t bytes, size_t n)
{
	q->in.expected = bytes + n * HEADER;
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
 * That has to be enough for a while: for 1,024 messages of the longest size, or fewer if that is large (`reuse`), and
 * for what comes together.
 */
static bool starts_over(const struct sample_queue *q, uint64_t head, uint64_t tail, size_t len)
{
	size_t at = head & (q->size - 1), enough = q->in.longest * START_OVER_SMALL;

	if (enough > q->in.reuse)
		enough = q->in.reuse;
	if (enough < len * START_OVER_MESSAGES)
		enough = len * START_OVER_MESSAGES;
	if (enough < q->in.expected)
		enough = q->in.expected;
	if (enough > q->size / 2)
		enough = q->size / 2;
	return head == tail && at >= enough;
}

/*
 * While the consumer was held up, much of the ring may have been filled. The pages beyond the header at `at`, where the
 * producer starts over, are not needed until that happens again. The pages of a shared mapping stay.
 */
static void free_rest(struct sample_queue *q, size_t at)
{
	size_t from = (at + HEADER + PAGE - 1) / PAGE * PAGE;

	if (q->in.touched < from + q->in.reuse / 2)
		return;
	madvise(q->data + from, q->in.touched - from, MADV_DONTNEED);
	q->in.touched = from;
}

void *sample_queue_reserve(struct sample_queue *q, size_t len)
{
	uint64_t head = q->in.head, tail = atomic_load_explicit(&q->ends->tail, memory_order_acquire);
	size_t at = head & (q->size - 1), skip = 0;

	if (len > q->size / 4 || head - tail > q->size)
		return NULL;
	if (q->in.longest < padded(len))
		q->in.longest = padded(len);
	if (q->size - at < padded(len) || starts_over(q, head, tail, padded(len)))
		skip = q->size - at;
	if (head + skip + padded(len) - tail > q->size)
		return NULL;
	if (skip) {
		put_header(q, head, SKIP);
		if (head == tail)
			free_rest(q, at);
	}
	q->in.pending = head + skip;
	q->in.reserved = len;
	return q->data + (q->in.pending & (q->size - 1)) + HEADER;
}

void sample_queue_commit(struct sample_queue *q, size_t len)
{
	size_t at;

	if (len > q->in.reserved)
		len = q->in.reserved;
	put_header(q, q->in.pending, len);
	q->in.head = q->in.pending + padded(len);
	at = (q->in.pending & (q->size - 1)) + padded(q->in.reserved);
	if (q->in.touched < at)
		q->in.touched = at;
	atomic_store_explicit(&q->ends->head, q->in.head, memory_order_release);
}

static uint64_t get_header(const struct sample_queue *q, uint64_t pos)
{
	uint64_t v;

	memcpy(&v, q->data + (pos & (q->size - 1)), sizeof(v));
	return v;
}

static void advance(struct sample_queue *q, size_t by)
{
	q->out.tail += by;
	atomic_store_explicit(&q->ends->tail, q->out.tail, memory_order_release);
}

/* The length of the message at the tail, of `there` bytes that are queued. False: there is none that makes sense. */
static bool get_length(const struct sample_queue *q, uint64_t there, size_t *ret)
{
	size_t left = q->size - (q->out.tail & (q->size - 1));
	uint64_t len;

	if (there < HEADER || there > q->size || q->out.tail % HEADER)
		return false;
	len = get_header(q, q->out.tail);
	*ret = len;
	return len == SKIP || (len <= q->size / 4 && padded(len) <= there && padded(len) <= left);
}

const void *sample_queue_peek(struct sample_queue *q, size_t *ret_len)
{
	uint64_t head = atomic_load_explicit(&q->ends->head, memory_order_acquire);
	size_t len;

	if (head == q->out.tail || !get_length(q, head - q->out.tail, &len))
		return NULL;
	if (len == SKIP) {
		advance(q, q->size - (q->out.tail & (q->size - 1)));
		if (!get_length(q, head - q->out.tail, &len) || len == SKIP)
			return NULL;
	}
	*ret_len = len;
	q->out.taken = padded(len);
	return q->data + (q->out.tail & (q->size - 1)) + HEADER;
}

void sample_queue_release(struct sample_queue *q)
{
	advance(q, q->out.taken);
	q->out.taken = 0;
}

/* Of a shared mapping, only MADV_REMOVE frees what the other process has mapped, too. */
void sample_queue_drop(struct sample_queue *q)
{
	q->out.tail = atomic_load_explicit(&q->ends->head, memory_order_acquire);
	atomic_store_explicit(&q->ends->tail, q->out.tail, memory_order_release);
	if (madvise(q->data, q->size, MADV_REMOVE) < 0)
		madvise(q->data, q->size, MADV_DONTNEED);
}

bool sample_queue_empty(const struct sample_queue *q)
{
	return atomic_load_explicit(&q->ends->head, memory_order_acquire) ==
	       atomic_load_explicit(&q->ends->tail, memory_order_acquire);
}
