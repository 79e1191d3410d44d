#include "symbolizer/hotspot/forget.h"

#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/* When copies have grown by an eighth plus a step. More often would take more time, less often more memory. */
enum { FORGET_STEP = 2 << 20, SPARING_STEP = 128 << 10, FORGET_SHARE = 8 };

static size_t step_of(const struct copies *c)
{
	return c->unused_ns ? SPARING_STEP : FORGET_STEP;
}

void hotspot_forget_unused(struct hotspot *hs, uint64_t ns)
{
	hs->copies->unused_ns = ns;
	hs->copies->forget_at = step_of(hs->copies);
}

bool hotspot_forget_due(const struct hotspot *hs)
{
	return hs->copies->bytes >= hs->copies->forget_at;
}

void hotspot_forget_begin(struct hotspot *hs)
{
	uint64_t now = clock_monotonic_ns(), unused_ns = hs->copies->unused_ns;

	methods_forget_begin(hs->methods);
	codes_forget_begin(hs->cache, unused_ns && now > unused_ns ? now - unused_ns : 0);
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

	u64map_done(&hs->methods->lasting); /* names methods that may be forgotten */
	c->kept = interned_forget(&hs->cache->codes) + interned_forget(&hs->methods->methods);
	c->forget_at = c->bytes + c->bytes / FORGET_SHARE + step_of(c);
}

uint64_t hotspot_kept_bytes(const struct hotspot *hs)
{
	return hs->copies->kept;
}
