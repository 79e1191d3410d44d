#include "jvm-bridge/stream/ring.h"

#include <string.h>
#include <sys/mman.h>

#define PAD 0x80000000u /* as a size: padding up to the end of the ring */

bool ring_init(struct ring *r)
{
	void *p = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	r->data = p;
	atomic_store(&r->head, 0);
	atomic_store(&r->tail, 0);
	return true;
}

static _Atomic uint32_t *size_at(const struct ring *r, uint64_t pos)
{
	return (_Atomic uint32_t *)(r->data + pos % RING_SIZE);
}

bool ring_put(struct ring *r, const void *record, uint32_t size)
{
	uint64_t head, tail, at;
	uint32_t pad;

	do {
		uint64_t left;

		tail = atomic_load(&r->tail); /* read before head, which it must not pass */
		head = atomic_load(&r->head);
		left = RING_SIZE - head % RING_SIZE;
		pad = left < size ? (uint32_t)left : 0;
		if (head + pad + size - tail > RING_SIZE)
			return false;
	} while (!atomic_compare_exchange_weak(&r->head, &head, head + pad + size));
	at = head + pad;
	if (pad)
		atomic_store(size_at(r, head), PAD | pad);
	memcpy(r->data + at % RING_SIZE + 4, (const char *)record + 4, size - 4);
	atomic_store(size_at(r, at), size);
	return true;
}

const void *ring_peek(struct ring *r, uint32_t *size)
{
	for (;;) {
		uint64_t tail = atomic_load(&r->tail);
		uint32_t n;

		if (tail == atomic_load(&r->head))
			return NULL;
		n = atomic_load(size_at(r, tail));
		if (!n)
			return NULL;
		*size = n & ~PAD;
		if (!(n & PAD))
			return r->data + tail % RING_SIZE;
		ring_drop(r, *size);
	}
}

void ring_drop(struct ring *r, uint32_t size)
{
	uint64_t tail = atomic_load(&r->tail);

	memset(r->data + tail % RING_SIZE, 0, size);
	atomic_store(&r->tail, tail + size);
}

size_t ring_used(const struct ring *r)
{
	return (size_t)(atomic_load(&r->head) - atomic_load(&r->tail));
}

void ring_reset(struct ring *r)
{
	madvise(r->data, RING_SIZE, MADV_DONTNEED);
	atomic_store(&r->head, 0);
	atomic_store(&r->tail, 0);
}
