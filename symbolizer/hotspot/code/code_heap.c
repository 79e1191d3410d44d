#include <errno.h>

#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/*
 * Code heaps and their segment maps (JDK src/hotspot/share/memory/heap.cpp). A map has one byte for each segment; 0xFF:
 * free, 0: a block starts here, n: go back n segments.
 */
enum { SEGMENT_FREE = 0xFF, SEGMAP_READ = 256, HOPS_MAX = 20000, BLOCKS_MAX = 1 << 20 };

static bool space_read(struct jvm *jvm, uint64_t space, uint64_t *low_boundary, uint64_t *low, uint64_t *high)
{
	const struct hs_layout *l = &jvm->l;

	return jvm_get(jvm, space, l->vs_low_boundary, low_boundary) && jvm_get(jvm, space, l->vs_low, low) &&
	       jvm_get(jvm, space, l->vs_high, high);
}

static bool heap_read(struct jvm *jvm, uint64_t addr, struct code_heap *ret)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t memory = addr + l->heap_memory.at, segmap = addr + l->heap_segmap.at;
	uint64_t low, segmap_low, log2 = 0;

	*ret = (struct code_heap){.addr = addr};
	if (!object_ok(addr) || !space_read(jvm, memory, &ret->low, &low, &ret->high) ||
	    !space_read(jvm, segmap, &segmap_low, &ret->segmap, &ret->segmap_high) ||
	    !jvm_get(jvm, addr, l->heap_log2_segment, &log2))
		return false;
	ret->reserved_high = ret->high;
	jvm_get(jvm, memory, l->vs_high_boundary, &ret->reserved_high);
	ret->log2_segment = (unsigned)log2;
	return log2 >= 4 && log2 <= 20 && addr_ok(ret->low) && ret->low <= ret->high &&
	       ret->high <= ret->reserved_high && ret->reserved_high - ret->low <= UINT64_C(1) << 36 &&
	       addr_ok(ret->segmap) && ret->segmap <= ret->segmap_high;
}

static int heap_add(struct code_cache *cache, uint64_t addr)
{
	if (!heap_read(cache->jvm, addr, &cache->heap[cache->n_heaps]))
		return -EAGAIN;
	cache->n_heaps++;
	return 0;
}

static int heap_list_read(struct code_cache *cache, uint64_t array)
{
	const struct hs_layout *l = &cache->jvm->l;
	uint64_t n, data, heap;
	int r = 0;

	if (!l->garray_len.ok || !l->garray_data.ok)
		return -ENOTSUP;
	if (!object_ok(array) || !jvm_get(cache->jvm, array, l->garray_len, &n) ||
	    !jvm_get(cache->jvm, array, l->garray_data, &data) || n == 0 || n > HEAPS_MAX)
		return -EAGAIN;
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = mem_read_u64(cache->jvm->mem, data + 8 * i, &heap) ? heap_add(cache, heap) : -EAGAIN;
	return r;
}

int heaps_read(struct code_cache *cache)
{
	const struct hs_layout *l = &cache->jvm->l;
	uint64_t at;
	int r;

	cache->n_heaps = 0;
	if (!jvm_get(cache->jvm, 0, l->cache_heaps.ok ? l->cache_heaps : l->cache_heap, &at) || at == 0)
		return -EAGAIN;
	r = l->cache_heaps.ok ? heap_list_read(cache, at) : heap_add(cache, at);
	cache->low = UINT64_MAX;
	cache->high = 0;
	for (size_t i = 0; i < cache->n_heaps; i++) {
		if (cache->heap[i].low < cache->low)
			cache->low = cache->heap[i].low;
		if (cache->heap[i].reserved_high > cache->high)
			cache->high = cache->heap[i].reserved_high;
	}
	return r;
}

/* true: the heap has grown. */
static bool heap_refresh(struct code_cache *cache, struct code_heap *h)
{
	struct code_heap now;

	if (!heap_read(cache->jvm, h->addr, &now) || now.low != h->low || now.reserved_high != h->reserved_high ||
	    (now.high == h->high && now.segmap_high == h->segmap_high))
		return false;
	*h = now;
	return true;
}

/* The heap whose committed part contains pc. */
static struct code_heap *heap_find(struct code_cache *cache, uint64_t pc)
{
	for (size_t i = 0; i < cache->n_heaps; i++) {
		struct code_heap *h = &cache->heap[i];

		if (pc < h->low || pc >= h->reserved_high)
			continue;
		if (pc >= h->high)
			heap_refresh(cache, h);
		return pc < h->high ? h : NULL;
	}
	return NULL;
}

/* Finds the index of the segment in which the block begins. */
static bool segment_find(struct code_cache *cache, const struct code_heap *h, uint64_t index, uint64_t *ret)
{
	uint8_t map[SEGMAP_READ];
	uint64_t first = 0;
	bool have = false;

	if (index >= h->segmap_high - h->segmap)
		return false;
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		uint8_t back;

		if (!have || index < first) {
			first = index >= SEGMAP_READ - 1 ? index - (SEGMAP_READ - 1) : 0;
			if (!jvm_read_fresh(cache->jvm, h->segmap + first, map, (uint32_t)(index - first + 1)))
				return false;
			have = true;
		}
		back = map[index - first];
		if (back == 0) {
			*ret = index;
			return true;
		}
		if (back == SEGMENT_FREE || back > index)
			return false;
		index -= back;
	}
	return false;
}

/* Nothing may be mapped after it, and a recording has what was needed. */
static bool bytes_read(struct code_cache *cache, uint64_t header, struct block *ret)
{
	uint64_t n = cache->jvm->l.size.heap_block;

	if (n > sizeof(ret->bytes) - cache->blob_span)
		return false;
	ret->n_bytes = (uint32_t)n + cache->blob_span;
	if (!cache->jvm->mem->exact && jvm_read_fresh(cache->jvm, header, ret->bytes, ret->n_bytes))
		return true;
	ret->n_bytes = (uint32_t)n;
	return jvm_read_fresh(cache->jvm, header, ret->bytes, ret->n_bytes);
}

/* Reads the HeapBlock at `header`, and ahead. */
static bool block_read(struct code_cache *cache, const struct code_heap *h, uint64_t header, struct block *ret)
{
	struct bytes b = {ret->bytes, cache->jvm->l.size.heap_block};
	uint64_t segments;

	if (!bytes_read(cache, header, ret))
		return false;
	segments = bytes_get(b, cache->jvm->l.block_length);
	ret->heap = h;
	ret->header = header;
	if (segments == 0 || segments > (h->high - header) >> h->log2_segment)
		return false;
	ret->size = segments << h->log2_segment;
	ret->raw = bytes_get(b, cache->jvm->l.block_used);
	return true;
}

static bool block_find_in(struct code_cache *cache, const struct code_heap *h, uint64_t pc, struct block *ret)
{
	uint64_t index;

	if (!segment_find(cache, h, (pc - h->low) >> h->log2_segment, &index))
		return false;
	return block_read(cache, h, h->low + (index << h->log2_segment), ret) && ret->raw != 0 &&
	       pc - ret->header < ret->size && pc - ret->header >= cache->jvm->l.size.heap_block;
}

bool block_find(struct code_cache *cache, uint64_t pc, struct block *ret)
{
	struct code_heap *h = heap_find(cache, pc);

	if (!h)
		return false;
	/* A block may begin below the known end of the heap and reach beyond it. */
	return block_find_in(cache, h, pc, ret) || (heap_refresh(cache, h) && block_find_in(cache, h, pc, ret));
}

size_t hs_code_each(struct hotspot *hs, hs_code_each_fn *fn, void *ctx)
{
	struct code_cache *cache = hs->cache;
	uint64_t head = cache->jvm->l.size.heap_block;
	size_t n = 0, blocks = 0;

	for (size_t i = 0; i < cache->n_heaps; i++) {
		struct code_heap *h = &cache->heap[i];
		struct block b;

		heap_refresh(cache, h);
		for (uint64_t at = h->low; at < h->high && blocks++ < BLOCKS_MAX && block_read(cache, h, at, &b);
		     at += b.size) {
			if (!b.raw)
				continue;
			n++;
			fn(ctx, b.header + head, b.size - head);
		}
	}
	return n;
}
