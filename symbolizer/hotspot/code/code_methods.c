#include "symbolizer/hotspot/code/code_methods.h"

#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/code/scopes.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/unsigned5.h"

/* Methods to read: their places in code.methods. */
struct wanted {
	struct code_cache *cache;
	struct code_entry *e;
	uint64_t *scopes; /* a bit for each offset of a scope that was looked at; NULL: chains do not meet */
	bool *places;
	size_t n;
};

static void wanted_done(struct wanted *w)
{
	free(w->scopes);
	free(w->places);
}

static bool seen_before(struct wanted *w, uint32_t scope)
{
	uint64_t bit = UINT64_C(1) << scope % 64;
	bool was = w->scopes && w->scopes[scope / 64] & bit;

	if (w->scopes)
		w->scopes[scope / 64] |= bit;
	return was;
}

static void want_chain(struct wanted *w, int32_t offset)
{
	const struct code *c = &w->e->code;
	uint32_t bias = unsigned5_bias(w->cache->jvm->version.major), i;
	struct scope s;

	while (offset > 0 && (uint32_t)offset < c->scopes_len && !seen_before(w, (uint32_t)offset) &&
	       scope_read(c->scopes, c->scopes_len, bias, offset, &s)) {
		i = s.method_index - 1;
		if (s.method_index && i < c->n_methods && w->e->metadata[i] && !c->methods[i] && !w->places[i]) {
			w->places[i] = true;
			w->n++;
		}
		offset = s.sender;
	}
}

static bool want_all(struct wanted *w)
{
	const struct code *c = &w->e->code;

	w->scopes = calloc(c->scopes_len / 64 + 1, sizeof(*w->scopes));
	if (!w->scopes)
		return false;
	for (uint32_t i = 0; i < c->n_records; i++)
		want_chain(w, c->records[i].scope_offset);
	return true;
}

/* What the methods turned out to be: ids[0] of the code's own, if that is wanted, and then of w->places. */
static uint32_t *intern(const struct wanted *w, bool own)
{
	size_t n = own, max = w->n < SCOPE_METHODS_MAX ? w->n + own : SCOPE_METHODS_MAX;
	uint64_t *addrs CLEANUP(free_at_exit) = calloc(w->n + 1, sizeof(*addrs));
	uint32_t *ids CLEANUP(free_at_exit) = calloc(w->n + 1, sizeof(*ids));

	if (!addrs || !ids)
		return NULL;
	addrs[0] = w->e->method;
	for (uint32_t i = 0; i < w->e->code.n_methods && n < max; i++)
		if (w->places[i])
			addrs[n++] = w->e->metadata[i];
	if (methods_intern(w->cache->methods, addrs, n, ids) < 0)
		return NULL;
	return take_ptr(ids);
}

static void take(const struct wanted *w, const uint32_t *ids)
{
	for (uint32_t i = 0; i < w->e->code.n_methods; i++)
		if (w->places[i])
			w->e->code.methods[i] = *ids++;
}

/* Of the frame of a call that returns to pc; there is nothing if no call does. */
static void want_frame(struct wanted *w, uint64_t pc)
{
	const struct code *c = &w->e->code;
	uint32_t after = (uint32_t)first_above(c->records, c->n_records, pc_offset, (int64_t)(pc - c->begin));

	if (after && c->begin + (uint64_t)c->records[after - 1].pc_offset == pc)
		want_chain(w, c->records[after - 1].scope_offset);
}

bool code_methods_copy(struct code_cache *cache, struct code_entry *e, uint64_t pc)
{
	CLEANUP(wanted_done)
	struct wanted w = {.cache = cache, .e = e, .places = calloc(e->code.n_methods + 1, sizeof(*w.places))};
	bool later = cache->codes.copies->unused_ns;
	uint32_t *ids CLEANUP(free_at_exit) = NULL;

	if (!w.places || (!later && !want_all(&w)))
		return false;
	if (later)
		want_frame(&w, pc);
	ids = intern(&w, true);
	if (!ids)
		return false;
	e->code.method_id = ids[0];
	take(&w, ids + 1);
	if (!later)
		e->metadata = NULL;
	return true;
}

static bool read_wanted(struct wanted *w)
{
	uint32_t known = w->cache->methods->methods.n, *ids CLEANUP(free_at_exit) = NULL;

	if (!w->n)
		return true;
	ids = intern(w, false);
	if (!ids || !nmethod_is_there(w->cache, w->e, false)) {
		methods_drop_since(w->cache->methods, known);
		return false;
	}
	take(w, ids);
	return true;
}

void code_methods_read_at(struct code_cache *cache, uint32_t code_id, uint64_t pc)
{
	struct code_entry *e = code_entry(cache, code_id);
	CLEANUP(wanted_done) struct wanted w = {.cache = cache, .e = e};

	if (!e || !e->metadata || pc < e->code.begin)
		return;
	w.places = calloc(e->code.n_methods + 1, sizeof(*w.places));
	if (!w.places)
		return;
	want_frame(&w, pc);
	read_wanted(&w);
}

void code_methods_read_all(struct code_cache *cache, uint32_t code_id)
{
	struct code_entry *e = code_entry(cache, code_id);
	CLEANUP(wanted_done) struct wanted w = {.cache = cache, .e = e};

	if (!e || !e->metadata)
		return;
	w.places = calloc(e->code.n_methods + 1, sizeof(*w.places));
	if (w.places && want_all(&w) && read_wanted(&w))
		e->metadata = NULL;
}
