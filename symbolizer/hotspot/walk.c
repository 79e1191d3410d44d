#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/walk_check.h"

/* Consistency of a walk: compares, in one batch, what the caches returned with the target's memory. */

void hotspot_walk_begin(struct hotspot *hs)
{
	struct moment *m = &hs->jvm->moment;

	m->walking = true;
	/* 0 means "never", the top bit "permanent". */
	m->walk = m->walk + 1 < STAMP_PERMANENT ? m->walk + 1 : 1;
	hs->cache->codes.used.n = 0;
	hs->methods->methods.used.n = 0;
}

void hotspot_walk_times(struct hotspot *hs, uint64_t sample_ns, uint64_t now_ns)
{
	struct moment *m = &hs->jvm->moment;

	if (now_ns != m->now_ns) {
		unloads_poll(hs->jvm, &hs->methods->unloads);
		redefinitions_poll(hs->jvm, &hs->methods->redefinitions);
	}
	m->sample_ns = sample_ns;
	m->now_ns = now_ns;
}

static bool reserve(void **v, size_t *cap, size_t n, size_t size)
{
	while (*cap < n)
		if (!vec_grow_(v, cap, *cap, size))
			return false;
	return true;
}

/* Allocates the bytes of n spans. */
static bool place(struct walk_check *w, size_t n)
{
	size_t bytes = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		bytes += w->spans.v[i].len;
	if (!reserve((void **)&w->bytes.v, &w->bytes.cap, bytes, 1))
		return false;
	for (size_t i = 0; i < n; i++) {
		w->spans.v[i].dst = w->bytes.v + at;
		at += w->spans.v[i].len;
	}
	return true;
}

bool hotspot_walk_end(struct hotspot *hs)
{
	struct walk_check *w = hs->check;
	size_t codes = hs->cache->codes.used.n, n = codes + METHOD_SPANS * hs->methods->methods.used.n;
	bool same;

	hs->jvm->moment.walking = false;
	if (n == 0)
		return true;
	if (!reserve((void **)&w->spans.v, &w->spans.cap, n, sizeof(*w->spans.v)))
		return false;
	codes_spans(hs->cache, w->spans.v);
	methods_spans(hs->methods, w->spans.v + codes);
	if (!place(w, n))
		return false;
	mem_read_batch(hs->jvm->mem, w->spans.v, n);
	same = codes_check(hs->cache, w->spans.v);
	return methods_check(hs->methods, w->spans.v + codes) && same;
}
