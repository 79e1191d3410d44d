#include "symbolizer/hotspot/roles.h"

#include "symbolizer/hotspot/hs_private.h"

/* With a segmented code cache, compiled methods have heaps of their own, without any stub. */
static bool in_method_heap(const struct hotspot *hs, uint64_t pc)
{
	for (size_t i = 0; i < hs->n_heaps; i++) {
		const struct code_heap *h = &hs->heap[i];

		if (pc >= h->low && pc < h->reserved_high)
			return hs->interp_start < h->low || hs->interp_start >= h->reserved_high;
	}
	return true;
}

const struct code *stub_find(struct hotspot *hs, uint64_t pc)
{
	const struct code *c = code_peek(hs, pc);
	struct block block;
	struct blob b;

	/* A part of a recording has to find it from this target alone. */
	if (c && hs->mem->exact && !in_method_heap(hs, pc))
		block_find(hs, pc, &block);
	if (c)
		return c;
	if (in_method_heap(hs, pc) || !block_find(hs, pc, &block) || !blob_read(hs, &block, &b) ||
		b.kind <= BLOB_MH_INTRINSIC)
		return NULL;
	return hs_code(hs, hs_code_find(hs, pc));
}

/*
 * Calls with debug information are direct: `call rel32` on x86-64 (x86_64.ad, c1_LIRAssembler_x86.cpp);
 * other bytes that look like one do no harm.
 */
void roles_note(struct hotspot *hs, const struct code *c)
{
	for (uint32_t i = 0; i < c->n_records; i++) {
		int64_t end = c->records[i].pc_offset;
		uint64_t target;
		int32_t rel;

		if (end < 5 || end > c->n_bytes || c->bytes[end - 5] != 0xe8)
			continue;
		memcpy(&rel, c->bytes + end - 4, 4);
		target = c->begin + (uint64_t)(end + rel);
		if (hs_in_code_cache(hs, target))
			stub_find(hs, target);
	}
}
