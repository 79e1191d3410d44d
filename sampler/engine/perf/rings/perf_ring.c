#include "sampler/engine/perf/rings/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	RECORD_MAX = 65536, /* perf_event_header.size is 16 bits wide */
	HEADER = sizeof(struct perf_event_header),
};

int perf_ring_init(struct perf_ring *r, void *data, size_t size, uint64_t *head, uint64_t *tail)
{
	if (size < HEADER || size & (size - 1))
		return -EINVAL;
	*r = (struct perf_ring){.head = head, .tail = tail, .data = data, .size = size};
	r->bounce = malloc(RECORD_MAX);
	return r->bounce ? 0 : -ENOMEM;
}

int perf_ring_open(struct perf_ring *r, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = page + size;
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int ret;

	memset(r, 0, sizeof(*r));
	if (base == MAP_FAILED)
		return -errno;

	struct perf_event_mmap_page *h = base;

	ret = perf_ring_init(r, (uint8_t *)base + page, size, (uint64_t *)&h->data_head, (uint64_t *)&h->data_tail);
	if (ret < 0) {
		munmap(base, len);
		return ret;
	}
	r->base = base;
	r->map_len = len;
	return 0;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->base)
		munmap(r->base, r->map_len);
	free(r->bounce);
	memset(r, 0, sizeof(*r));
}

int perf_ring_renew(struct perf_ring *r, int fd)
{
	size_t size = r->size;

	perf_ring_close(r);
	return perf_ring_open(r, fd, size);
}

uint64_t perf_ring_head(const struct perf_ring *r)
{
	return r->head ? __atomic_load_n(r->head, __ATOMIC_ACQUIRE) : 0;
}

uint64_t perf_ring_used(const struct perf_ring *r)
{
	if (!r->head)
		return 0;
	return __atomic_load_n(r->head, __ATOMIC_ACQUIRE) - *r->tail;
}

static void copy_out(const struct perf_ring *r, uint64_t pos, void *dst, size_t len)
{
	size_t at = pos & (r->size - 1), first = r->size - at < len ? r->size - at : len;

	memcpy(dst, r->data + at, first);
	memcpy((uint8_t *)dst + first, r->data, len - first);
}

static const void *whole(const struct perf_ring *r, uint64_t pos, size_t len)
{
	size_t at = pos & (r->size - 1);

	if (len <= r->size - at)
		return r->data + at;
	copy_out(r, pos, r->bounce, len);
	return r->bounce;
}

int perf_ring_drain(struct perf_ring *r, perf_ring_fn *fn, void *ctx)
{
	if (!r->head)
		return 0;
	/* Pairs with the barrier in perf_output_put_handle(): all records before head are complete. */
	uint64_t head = __atomic_load_n(r->head, __ATOMIC_ACQUIRE), tail = *r->tail, given = tail;
	int ret = head - tail > r->size ? -EBADMSG : 0;

	while (!ret && tail != head) {
		struct perf_event_header h;

		if (head - tail < HEADER) {
			ret = -EBADMSG;
			break;
		}
		copy_out(r, tail, &h, HEADER);
		if (h.size < HEADER || h.size > head - tail) {
			ret = -EBADMSG;
			break;
		}
		ret = fn(ctx, whole(r, tail, h.size), h.size);
		tail += h.size;
		/* Early, so that a nearly full ring has room again while it is read. */
		if (tail - given > r->size / 8) {
			__atomic_store_n(r->tail, tail, __ATOMIC_RELEASE);
			given = tail;
		}
	}
	__atomic_store_n(r->tail, ret == -EBADMSG ? head : tail, __ATOMIC_RELEASE);
	return ret;
}

void perf_ring_look_beyond(const struct perf_ring *r, perf_ring_fn *fn, void *ctx)
{
	uint64_t at = perf_ring_head(r), end = r->head ? *r->tail + r->size : at;
	struct perf_event_header h;

	for (; end - at >= HEADER; at += h.size) {
		copy_out(r, at, &h, HEADER);
		if (h.size < HEADER || h.size > end - at || fn(ctx, whole(r, at, h.size), h.size))
			break;
	}
}
