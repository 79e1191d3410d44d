#include "symbolizer/hotspot/hs_private.h"

/* Code and methods of which only others know: they were thrown away between the sample and the walk. */

void hs_set_gone(struct hotspot *hs, hs_gone_fn *fn, void *ctx)
{
	hs->gone = fn;
	hs->gone_ctx = ctx;
}

uint32_t gone_find(struct hotspot *hs, uint64_t pc, bool there)
{
	uint32_t id = hs->gone && hs->walking && hs->sample_ns ?
		hs->gone(hs->gone_ctx, pc, hs->sample_ns, there) :
		0;

	return id <= hs->codes.n ? id : 0;
}

uint32_t hs_gone_add(struct hotspot *hs, uint64_t begin, uint32_t size, int32_t frame_size, int tier)
{
	struct code_entry e = {.code = {
		.kind = BLOB_NMETHOD,
		.blob = begin,
		.blob_size = size,
		.begin = begin,
		.end = begin + size,
		.frame_size = frame_size,
		.frame_complete = -1,
		.name = "nmethod",
		.tier = (int8_t)tier,
		.osr_bci = -1,
		.osr_entry = -1,
		.orig_pc_offset = -1,
		.deopt_handler = -1,
		.deopt_mh_handler = -1,
		.exception_handler = -1,
		.stub_begin = -1,
		.gone = true,
	}};

	/* Nothing in memory that a walk's end could compare it with. */
	return memory_full(hs) ? 0 : code_entry_add(hs, &e, STAMP_PERMANENT);
}

bool hs_code_shape(struct hotspot *hs, uint64_t begin, int32_t *ret_frame_size, int32_t *ret_tier)
{
	struct hs_field level = {hs->l.nm_comp_level.at, 1, true, false};
	struct block block;
	struct blob b;

	if (begin < hs->low || begin >= hs->high || !block_find(hs, begin, &block) ||
		!blob_read(hs, &block, &b) || b.kind != BLOB_NMETHOD || b.begin != begin)
		return false;
	*ret_frame_size = b.frame_size;
	*ret_tier = (int32_t)bytes_get(b.header, level);
	if (*ret_tier > TIER_C2)
		*ret_tier = 0;
	return true;
}

void hs_set_gone_method(struct hotspot *hs, hs_gone_method_fn *fn, void *ctx)
{
	hs->gone_method = fn;
	hs->gone_method_ctx = ctx;
}

uint32_t gone_method_find(struct hotspot *hs, uint64_t method, const struct hs_method *fresh)
{
	uint32_t id = hs->gone_method && hs->walking && hs->sample_ns ?
		hs->gone_method(hs->gone_method_ctx, method, hs->sample_ns, fresh) :
		0;

	return id <= hs->methods.n ? id : 0;
}

uint32_t hs_gone_method_add(struct hotspot *hs)
{
	struct method_entry e = {.method = {.class_name = "", .name = "", .signature = "", .gone = true}};

	/* Nothing in memory that a walk's end could compare it with. */
	return memory_full(hs) ? 0 : method_entry_add(hs, &e, STAMP_PERMANENT);
}

static const char *kept(struct hotspot *hs, const char *s)
{
	uint32_t id = s ? strtab_add_z(hs->names, s) : UINT32_MAX;

	return id == UINT32_MAX ? NULL : strtab_get(hs->names, id);
}

void hs_gone_method_name(struct hotspot *hs, uint32_t id, const char *class_name, const char *name,
			 const char *signature, const char *source_file)
{
	struct method_entry *e = id && id <= hs->methods.n ? hs->methods.v[id - 1] : NULL;
	struct hs_method *m = e ? &e->method : NULL;
	const char *names[3] = {kept(hs, class_name), kept(hs, name), kept(hs, signature)};

	if (!m || !m->gone || !names[0] || !names[1] || !names[2])
		return;
	m->class_name = names[0];
	m->name = names[1];
	m->signature = names[2];
	m->source_file = kept(hs, source_file);
}
