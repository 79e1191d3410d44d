#ifndef JS_ENGINE_SAMPLE_QUEUE_H
#define JS_ENGINE_SAMPLE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bounded, lock-free queue of messages from one thread to another. When it is full, the producer counts the message
 * as lost.
 */
struct sample_queue;

struct sample_queue *sample_queue_new(size_t bytes); /* a power of two; NULL: out of memory */
/*
 * The same for a thread of this process and a thread of a child that is forked later. Neither end trusts what the other
 * one can write: if positions and lengths make no sense, the queue is full for the producer and empty for the consumer,
 * and neither end reads or writes outside of the queue. The other end may change a message while it is read.
 */
struct sample_queue *sample_queue_new_shared(size_t bytes);
void sample_queue_free(struct sample_queue *q); /* this process's end */
/*
 * Producer, before it begins: how many bytes are used again and again while the consumer keeps up, if messages are
 * large. Otherwise 8 MB. sample_queue_expect() may make it more.
 */
void sample_queue_reuse(struct sample_queue *q, size_t bytes);
/*
 * Producer. The next n messages have that many bytes in all, each rounded up to 8, and the consumer may take none of
 * them before the last: the producer does not start over where there would be no room for them.
 */
void sample_queue_expect(struct sample_queue *q, size_t bytes, size_t n);

/*
 * Producer. Room for a message of `len` bytes, contiguous and 8-byte aligned; NULL: full, or longer than a quarter of
 * the queue. The commit makes it visible to the consumer, and may shorten it. One reservation at a time; one that is
 * not committed has no effect.
 */
void *sample_queue_reserve(struct sample_queue *q, size_t len);
void sample_queue_commit(struct sample_queue *q, size_t len);

/* Consumer. The oldest message; NULL: none. It is valid until sample_queue_release(). */
const void *sample_queue_peek(struct sample_queue *q, size_t *ret_len);
void sample_queue_release(struct sample_queue *q);

/* Drops what is queued and frees the memory. The producer must have ended. */
void sample_queue_drop(struct sample_queue *q);

bool sample_queue_empty(const struct sample_queue *q); /* either side */

#endif
