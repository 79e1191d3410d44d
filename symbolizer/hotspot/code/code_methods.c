#include "symbolizer/hotspot/code/code_methods.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/code/scopes.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/unsigned5.h"

/* Methods to read: their places in code.methods. The code's own is not among them while it is copied. */
struct wanted {
	struct code_cache *cache;
	struct code_entry *e;
	bool copying;
	uint32_t *at;
	size_t n, max;
};

static bool has_place(const struct wanted *w, uint32_t i)
{
	const struct code_entry *e = w->e;

	return i < e->code.n_methods && e->metadata[i] && !e->code.methods[i] &&
	       !(w->copying && e->metadata[i] == e->method);
}

static bool scope_at(const struct wanted *w, int32_t offset, struct scope *ret)
{
	const struct code *c = &w->e->code;

	return scope_read(c->scopes, c->scopes_len, unsigned5_bias(w->cache->jvm->version.major), offset, ret);
}

static bool is_listed(const struct wanted *w, uint32_t place)
{
	size_t i = 0;

	while (i < w->n && w->at[i] != place)
		i++;
	return i < w->n;
}

/* The methods of one frame, of which no more than CODE_MAX_SCOPES have names; there are none if no call returns to pc. */
static void want_frame(struct wanted *w, uint64_t pc)
{
	const struct code_record *r = code_record_at(&w->e->code, (int64_t)(pc - w->e->code.begin));
	struct scope s = {.sender = r ? r->scope_offset : 0};

	for (int i = 0; i < CODE_MAX_SCOPES && s.sender && w->n < w->max && scope_at(w, s.sender, &s); i++)
		if (s.method_index && has_place(w, s.method_index - 1) && !is_listed(w, s.method_index - 1))
			w->at[w->n++] = s.method_index - 1;
}

static bool test_and_set(uint64_t *bits, uint32_t i)
{
	uint64_t bit = UINT64_C(1) << i % 64;
	bool was = bits[i / 64] & bit;

	bits[i / 64] |= bit;
	return was;
}

/* Each scope is decoded only once. false: out of memory. */
static bool want_all(struct wanted *w)
{
	const struct code *c = &w->e->code;
	uint64_t *scopes CLEANUP(free_at_exit) = calloc(c->scopes_len / 64 + 1, sizeof(*scopes));
	uint64_t *places CLEANUP(free_at_exit) = calloc(c->n_methods / 64 + 1, sizeof(*places));
	struct scope s;

	if (!scopes || !places)
		return false;
	for (uint32_t i = 0; i < c->n_records; i++)
		for (int32_t at = c->records[i].scope_offset;
		     at > 0 && (uint32_t)at < c->scopes_len && !test_and_set(scopes, (uint32_t)at) &&
		     scope_at(w, at, &s);
		     at = s.sender)
			if (s.method_index && has_place(w, s.method_index - 1) && w->n < w->max &&
			    !test_and_set(places, s.method_index - 1))
				w->at[w->n++] = s.method_index - 1;
	return true;
}

/*
 * Of which time the JVM's counts must be at least, for what is known about methods to be true of these: the code was there
 * when it was read, and until now, and its methods with it.
 */
static uint64_t counts_since(const struct wanted *w)
{
	const struct moment *m = &w->cache->jvm->moment;

	if (w->copying || !m->walking || !m->sample_ns)
		return clock_monotonic_ns();
	return m->sample_ns > w->e->read_ns ? m->sample_ns : w->e->read_ns;
}

/* The ids of the code's own method, and then of those wanted; while it is copied. */
static uint32_t *intern(const struct wanted *w)
{
	uint64_t *addrs CLEANUP(free_at_exit) = calloc(w->n + 1, sizeof(*addrs));
	uint32_t *ids CLEANUP(free_at_exit) = calloc(w->n + 1, sizeof(*ids));
	size_t own = w->copying;

	if (!addrs || !ids)
		return NULL;
	addrs[0] = w->e->method;
	for (size_t i = 0; i < w->n; i++)
		addrs[own + i] = w->e->metadata[w->at[i]];
	if (methods_intern(w->cache->methods, addrs, own + w->n, counts_since(w), ids) < 0)
		return NULL;
	return take_ptr(ids);
}

static void take(const struct wanted *w, const uint32_t *ids)
{
	struct code *c = &w->e->code;

	for (size_t i = 0; i < w->n; i++) {
		c->methods[w->at[i]] = ids[i];
		if (!c->method_id && w->e->metadata[w->at[i]] == w->e->method)
			c->method_id = ids[i];
	}
}

/* The outermost scope of each chain has the code's own method. */
static void take_own(struct code_entry *e, uint32_t id)
{
	e->code.method_id = id;
	for (uint32_t i = 0; i < e->code.n_methods; i++)
		if (e->metadata[i] == e->method)
			e->code.methods[i] = id;
}

/* Nothing is left to read; and nothing to keep after the last place that a scope may have. */
static void note_all_read(const struct wanted *w)
{
	struct code_entry *e = w->e;
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->code.n_methods; i++)
		if (e->metadata[i] == e->method)
			n = i + 1;
	for (size_t i = 0; i < w->n; i++)
		if (w->at[i] >= n)
			n = w->at[i] + 1;
	e->code.n_methods = n;
	e->metadata = NULL;
}

bool code_methods_copy(struct code_cache *cache, struct code_entry *e, uint64_t pc)
{
	uint32_t max = e->code.n_methods < SCOPE_METHODS_MAX ? e->code.n_methods : SCOPE_METHODS_MAX;
	uint32_t *at CLEANUP(free_at_exit) = malloc((max + 1) * sizeof(*at)), *ids CLEANUP(free_at_exit) = NULL;
	struct wanted w = {.cache = cache, .e = e, .copying = true, .at = at, .max = max};
	bool later = cache->codes.copies->unused_ns;

	if (!at || (!later && !want_all(&w)))
		return false;
	if (later)
		want_frame(&w, pc);
	ids = intern(&w);
	if (!ids)
		return false;
	take_own(e, ids[0]);
	take(&w, ids + 1);
	if (!later)
		note_all_read(&w);
	return true;
}

static bool has_all(const struct wanted *w, const uint32_t *ids)
{
	size_t i = 0;

	while (i < w->n && ids[i])
		i++;
	return i == w->n;
}

/* false: some are missing, for lack of memory or of room, or because the code cannot be read now. */
static bool read_wanted(struct wanted *w)
{
	uint32_t known = w->cache->methods->methods.n, *ids CLEANUP(free_at_exit) = NULL;
	int there;

	if (!w->n)
		return true;
	if (copies_full(w->cache->codes.copies))
		return false;
	ids = intern(w);
	there = ids ? nmethod_look(w->cache, w->e, false) : -ENOMEM;
	if (there > 0) {
		take(w, ids);
		return has_all(w, ids) || !copies_full(w->cache->codes.copies);
	}
	methods_drop_since(w->cache->methods, known);
	if (there == 0) /* for good */
		w->e->metadata = NULL;
	return there == 0;
}

bool code_methods_read_at(struct code_cache *cache, uint32_t code_id, uint64_t pc)
{
	struct code_entry *e = code_entry(cache, code_id);
	uint32_t at[CODE_MAX_SCOPES];
	struct wanted w = {.cache = cache, .e = e, .at = at, .max = CODE_MAX_SCOPES};

	if (!e || !e->metadata || pc < e->code.begin)
		return true;
	want_frame(&w, pc);
	return read_wanted(&w);
}

void code_methods_read_all(struct code_cache *cache, uint32_t code_id)
{
	struct code_entry *e = code_entry(cache, code_id);
	uint32_t *at CLEANUP(free_at_exit) = e && e->metadata ? malloc((e->code.n_methods + 1) * sizeof(*at)) : NULL;
	struct wanted w = {.cache = cache, .e = e, .at = at};

	if (!at)
		return;
	w.max = e->code.n_methods < SCOPE_METHODS_MAX ? e->code.n_methods : SCOPE_METHODS_MAX;
	if (want_all(&w) && read_wanted(&w))
		e->metadata = NULL;
}
