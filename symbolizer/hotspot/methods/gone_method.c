#include "symbolizer/base/strtab.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/* Methods whose classes were unloaded between the sample and the walk, as reported by others. */

void hs_set_gone_method(struct hotspot *hs, hs_gone_method_fn *fn, void *ctx)
{
	hs->methods->gone = fn;
	hs->methods->gone_ctx = ctx;
}

uint32_t gone_method_find(struct method_table *table, uint64_t method, const struct hs_method *fresh)
{
	const struct moment *now = &table->jvm->moment;
	uint32_t id = table->gone && now->walking && now->sample_ns ?
			      table->gone(table->gone_ctx, method, now->sample_ns, fresh) :
			      0;

	return id <= table->methods.n ? id : 0;
}

uint32_t hs_gone_method_add(struct hotspot *hs)
{
	struct method_entry e = {.method = {.class_name = "", .name = "", .signature = "", .gone = true}};

	/* Permanent: the check at a walk's end could not find it in memory. */
	return copies_full(hs->methods->methods.copies) ? 0 : method_entry_add(hs->methods, &e, STAMP_PERMANENT);
}

static const char *kept(struct copies *copies, const char *s)
{
	uint32_t id = s ? strtab_add_z(copies->names, s) : UINT32_MAX;

	return id == UINT32_MAX ? NULL : strtab_get(copies->names, id);
}

void hs_gone_method_name(struct hotspot *hs, uint32_t id, const char *class_name, const char *name,
			 const char *signature, const char *source_file)
{
	struct copies *copies = hs->methods->methods.copies;
	struct method_entry *e = method_entry(hs->methods, id);
	struct hs_method *m = e ? &e->method : NULL;
	const char *names[3] = {kept(copies, class_name), kept(copies, name), kept(copies, signature)};

	if (!m || !m->gone || !names[0] || !names[1] || !names[2])
		return;
	m->class_name = names[0];
	m->name = names[1];
	m->signature = names[2];
	m->source_file = kept(copies, source_file);
}
