#include "symbolizer/hotspot/code/code_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/err.h"

static int starting(struct err *err, const char *what)
{
	return err_set(err, -EAGAIN, "the JVM is still starting (no %s yet)", what);
}

int code_cache_open(struct code_cache *cache, const struct vmstructs *tables, hs_symbol_fn *symbol, void *ctx,
		    struct err *err)
{
	const struct hs_layout *l = &cache->jvm->l;
	int r = heaps_read(cache);

	if (r == -ENOTSUP)
		return err_set(err, r, "the JVM's tables lack %s",
			       l->garray_len.ok ? "GrowableArray<int>::_data" :
						  "GrowableArrayBase::_len or GenericGrowableArray::_len");
	if (r)
		return starting(err, "code cache");
	if (interpreter_read(cache) < 0)
		return starting(err, "interpreter");
	if (!jvm_get(cache->jvm, 0, l->call_stub_return, &cache->stubs.call_stub_return) ||
	    cache->stubs.call_stub_return == 0)
		return starting(err, "call stub");
	cache->blob_span = blob_span_wanted(l);
	r = stub_names_resolve(cache, tables, symbol, ctx);
	return r ? err_set(err, r, "out of memory") : 0;
}

void code_cache_done(struct code_cache *cache)
{
	interned_done(&cache->codes);
	arena_done(&cache->parts);
	free(cache->interpreter.codelets);
	free(cache->stubs.names);
	vec_done(&cache->stubs.vars);
	vec_done(&cache->live);
}

void code_keep(struct code_cache *cache, uint32_t id, uint8_t why)
{
	struct interned *methods = &cache->methods->methods;
	const struct code *c = code_get(cache, id);

	if (!interned_keep(&cache->codes, id, why))
		return;
	interned_keep(methods, c->method_id, why);
	for (uint32_t i = 0; i < c->n_methods; i++)
		interned_keep(methods, c->methods[i], why);
}

/* Of the code in the code cache, what a walk has used since then. What is left out is read anew once it is seen. */
static void keep_live(struct code_cache *cache, uint64_t used_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < cache->live.n; i++) {
		const struct live_code live = cache->live.v[i];
		const struct code_entry *e = code_entry(cache, live.id);

		if (e->head.checked_ns < used_ns && e->read_ns < used_ns && e->head.stamp != STAMP_PERMANENT)
			continue;
		code_keep(cache, live.id, KEEP_LIVE);
		cache->live.v[n++] = live;
	}
	cache->live.n = n;
}

/* Keeps code that others reported, too, since they have its ids. */
void codes_forget_begin(struct code_cache *cache, uint64_t used_ns)
{
	const struct interned *t = &cache->codes;

	for (uint32_t id = 0; (id = interned_next(t, id));)
		interned_get(t, id)->keep = KEEP_NOT;
	keep_live(cache, used_ns);
	for (uint32_t id = 0; (id = interned_next(t, id));)
		if (interned_get(t, id)->stamp == STAMP_PERMANENT)
			code_keep(cache, id, code_get(cache, id)->gone ? KEEP_NAMED : KEEP_LIVE);
	cache->pc_generation++; /* the pc cache has ids that will be forgotten */
}

/* One span has the identity of a code blob: its HeapBlock and header. */
void codes_spans(const struct code_cache *cache, struct mem_span *ret)
{
	for (size_t i = 0; i < cache->codes.used.n; i++) {
		const struct code *c = code_get(cache, cache->codes.used.v[i]);

		ret[i] = (struct mem_span){
			.addr = c->blob - cache->jvm->l.size.heap_block,
			.len = blob_identity_span(cache->jvm, c->kind <= BLOB_MH_INTRINSIC),
		};
	}
}

static bool code_same(const struct jvm *jvm, const struct code_entry *e, const struct mem_span *s)
{
	uint64_t method;

	return s->ok &&
	       blob_identity(jvm, (struct bytes){s->dst, s->len}, e->code.kind <= BLOB_MH_INTRINSIC, &method) ==
		       e->identity &&
	       (method == 0 || method == e->method);
}

bool codes_check(struct code_cache *cache, const struct mem_span *spans)
{
	bool all = true;

	for (size_t i = 0; i < cache->codes.used.n; i++) {
		struct code_entry *e = code_entry(cache, cache->codes.used.v[i]);

		if (code_same(cache->jvm, e, &spans[i])) {
			e->head.checked_ns = cache->jvm->moment.now_ns;
			continue;
		}
		code_drop(cache, cache->codes.used.v[i]);
		cache->codes.replaced++;
		all = false;
	}
	return all;
}
