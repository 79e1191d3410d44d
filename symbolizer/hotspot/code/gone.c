#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/* Code that was freed between the sample and the walk, as reported by others. */

void hs_set_gone(struct hotspot *hs, hs_gone_fn *fn, void *ctx)
{
	hs->cache->gone = fn;
	hs->cache->gone_ctx = ctx;
}

uint32_t gone_find(struct code_cache *cache, uint64_t pc, bool there)
{
	const struct moment *now = &cache->jvm->moment;
	uint32_t id = cache->gone && now->walking && now->sample_ns ?
			      cache->gone(cache->gone_ctx, pc, now->sample_ns, there) :
			      0;

	return id <= cache->codes.n ? id : 0;
}

uint32_t hs_gone_add(struct hotspot *hs, uint64_t begin, uint32_t size, int32_t frame_size, int tier)
{
	const struct blob b = {
		.kind = BLOB_NMETHOD,
		.addr = begin,
		.size = size,
		.begin = begin,
		.end = begin + size,
		.frame_size = frame_size,
		.frame_complete = -1,
		.entry_bci = CODE_NO_OSR,
		.name = "nmethod",
	};
	struct code_entry e = {.code = code_of_blob(hs->cache, &b)};

	e.code.tier = (int8_t)tier;
	e.code.gone = true;

	/* Permanent: the check at a walk's end could not find it in memory. */
	return copies_full(hs->cache->codes.copies) ? 0 : code_entry_add(hs->cache, &e, STAMP_PERMANENT);
}

bool hs_code_shape(struct hotspot *hs, uint64_t begin, int32_t *ret_frame_size, int32_t *ret_tier)
{
	struct code_cache *cache = hs->cache;
	struct hs_field level = {hs->jvm->l.nm_comp_level.at, 1, true, false};
	struct block block;
	struct blob b;

	if (!in_code_cache(cache, begin) || !block_find(cache, begin, &block) || !blob_read(cache, &block, &b) ||
	    b.kind != BLOB_NMETHOD || b.begin != begin)
		return false;
	*ret_frame_size = b.frame_size;
	*ret_tier = (int32_t)bytes_get(b.header, level);
	if (*ret_tier > TIER_C2)
		*ret_tier = 0;
	return true;
}
