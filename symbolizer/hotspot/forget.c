#include "symbolizer/hotspot/forget.h"

#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/* When copies have grown by an eighth plus 2 MB. More often would take more time, less often more memory. */
enum { FORGET_STEP = 2 << 20, FORGET_SHARE = 8 };

bool hotspot_forget_due(const struct hotspot *hs)
{
	return hs->copies->bytes >= hs->copies->forget_at;
}

void hotspot_forget_begin(struct hotspot *hs)
{
	methods_forget_begin(hs->methods);
	codes_forget_begin(hs->cache);
}

void hotspot_keep_code(struct hotspot *hs, uint32_t id)
{
	code_keep(hs->cache, id, KEEP_NAMED);
}

bool hotspot_keep_method(struct hotspot *hs, uint32_t id)
{
	return interned_keep(&hs->methods->methods, id, KEEP_NAMED);
}

bool hotspot_keeps_method(const struct hotspot *hs, uint32_t id)
{
	const struct entry *e = interned_get(&hs->methods->methods, id);

	return e && e->keep;
}

void hotspot_forget_end(struct hotspot *hs)
{
	struct copies *c = hs->copies;

	c->kept = interned_forget(&hs->cache->codes) + interned_forget(&hs->methods->methods);
	c->forget_at = c->bytes + c->bytes / FORGET_SHARE + FORGET_STEP;
}

uint64_t hotspot_kept_bytes(const struct hotspot *hs)
{
	return hs->copies->kept;
}
