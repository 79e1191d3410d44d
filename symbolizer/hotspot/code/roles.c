#include "symbolizer/hotspot/code/roles.h"

#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/* In a segmented code cache, compiled methods have their own heaps, without stubs. */
static bool in_method_heap(const struct code_cache *cache, uint64_t pc)
{
	for (size_t i = 0; i < cache->n_heaps; i++) {
		const struct code_heap *h = &cache->heap[i];

		if (pc >= h->low && pc < h->reserved_high)
			return cache->interpreter.start < h->low || cache->interpreter.start >= h->reserved_high;
	}
	return true;
}

const struct code *stub_find(struct code_cache *cache, uint64_t pc)
{
	const struct code *c = code_peek(cache, pc);
	struct block block;
	struct blob b;

	/* Recorded, so that this target alone suffices to find it in a replay. */
	if (c && cache->jvm->mem->exact && !in_method_heap(cache, pc))
		block_find(cache, pc, &block);
	if (c)
		return c;
	if (in_method_heap(cache, pc) || !block_find(cache, pc, &block) || !blob_read(cache, &block, &b) ||
	    b.kind <= BLOB_MH_INTRINSIC)
		return NULL;
	return code_get(cache, code_find(cache, pc));
}

/*
 * Calls with debug information are direct: `call rel32` on x86-64 (x86_64.ad, c1_LIRAssembler_x86.cpp). Other bytes
 * that look like a call do no harm.
 */
void roles_note(struct code_cache *cache, const struct code *c)
{
	for (uint32_t i = 0; i < c->n_records; i++) {
		int64_t end = c->records[i].pc_offset;
		uint64_t target;
		int32_t rel;

		if (end < 5 || end > c->n_bytes || c->bytes[end - 5] != 0xe8)
			continue;
		memcpy(&rel, c->bytes + end - 4, 4);
		target = c->begin + (uint64_t)(end + rel);
		if (in_code_cache(cache, target))
			stub_find(cache, target);
	}
}

enum blob_role hs_code_role(struct hotspot *hs, uint64_t target)
{
	struct code_cache *cache = hs->cache;
	const struct code *c;

	/* Calls out of the code cache have no record; those that need one go through a stub. */
	if (!in_code_cache(cache, target))
		return target ? ROLE_LEAF : ROLE_NONE;
	c = stub_find(cache, target);
	if (!c)
		return ROLE_NONE;
	switch (c->kind) {
	case BLOB_STUBS: return ROLE_LEAF;
	case BLOB_DEOPT: return c->role == STUB_UNCOMMON_TRAP ? ROLE_UNCOMMON_TRAP : ROLE_RUNTIME;
	case BLOB_RUNTIME: return c->role == STUB_CALL_RESOLVER ? ROLE_NONE : ROLE_RUNTIME;
	case BLOB_SAFEPOINT:
	case BLOB_EXCEPTION: return ROLE_RUNTIME;
	default: return ROLE_NONE;
	}
}
