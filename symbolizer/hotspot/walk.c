#include "symbolizer/hotspot/hs_private.h"

/*
 * Consistency of a walk: what the caches answered is compared with the target in one batch. A code's
 * identity is one span, of its HeapBlock and header; a method's are its ConstMethod pointer, the
 * head of that ConstMethod, and the name of its class, by pointer and by the end of its text.
 */

enum { METHOD_SPANS = 4 };

void hotspot_walk_begin(struct hotspot *hs)
{
	hs->walking = true;
	/* 0 is "never", the top bit is "permanent". */
	hs->walk = hs->walk + 1 < STAMP_PERMANENT ? hs->walk + 1 : 1;
	hs->used_codes.n = 0;
	hs->used_methods.n = 0;
}

void hotspot_walk_times(struct hotspot *hs, uint64_t sample_ns, uint64_t now_ns)
{
	if (now_ns != hs->now_ns) {
		unloads_poll(hs);
		redefinitions_poll(hs);
	}
	hs->sample_ns = sample_ns;
	hs->now_ns = now_ns;
}

static bool span_add(struct hotspot *hs, uint64_t addr, uint32_t len, size_t *at)
{
	struct mem_span s = {.addr = addr, .len = len};

	/* dst is set when the bytes no longer move. */
	*at += len;
	return vec_push(&hs->spans, s);
}

/* METHOD_SPANS of them, as method_same() takes them. */
static bool method_spans_add(struct hotspot *hs, const struct hs_method *m,
	const struct method_entry *e, size_t *bytes)
{
	return span_add(hs, m->addr + hs->l.method_const.at, 8, bytes) &&
		span_add(hs, m->const_method, method_identity_span(hs), bytes) &&
		span_add(hs, e->holder + hs->l.klass_name.at, 8, bytes) &&
		span_add(hs, e->tail_len ? e->tail_addr : e->class_symbol,
			e->tail_len ? e->tail_len : 1, bytes);
}

static bool spans_collect(struct hotspot *hs, size_t *ret_bytes)
{
	bool ok = true;

	hs->spans.n = 0;
	*ret_bytes = 0;
	for (size_t i = 0; ok && i < hs->used_codes.n; i++) {
		const struct code *c = hs_code(hs, hs->used_codes.v[i]);

		ok = span_add(hs, c->blob - hs->l.size.heap_block,
			blob_identity_span(hs, c->kind <= BLOB_MH_INTRINSIC), ret_bytes);
	}
	for (size_t i = 0; ok && i < hs->used_methods.n; i++) {
		const struct hs_method *m = hs_method(hs, hs->used_methods.v[i]);

		ok = method_spans_add(hs, m, hs->methods.v[m->id - 1], ret_bytes);
	}
	return ok;
}

static bool spans_read(struct hotspot *hs)
{
	size_t n, at = 0;

	if (!spans_collect(hs, &n))
		return false;
	while (hs->span_bytes.cap < n)
		if (!vec_grow_((void **)&hs->span_bytes.v, &hs->span_bytes.cap, hs->span_bytes.cap, 1))
			return false;
	for (size_t i = 0; i < hs->spans.n; i++) {
		hs->spans.v[i].dst = hs->span_bytes.v + at;
		at += hs->spans.v[i].len;
	}
	mem_read_batch(hs->mem, hs->spans.v, hs->spans.n);
	return true;
}

static bool code_same(struct hotspot *hs, uint32_t id, const struct mem_span *s)
{
	const struct code_entry *e = hs->codes.v[id - 1];
	uint64_t method;

	return s->ok &&
		blob_identity(hs, (struct bytes){s->dst, s->len}, e->code.kind <= BLOB_MH_INTRINSIC,
			&method) == e->identity &&
		(method == 0 || method == e->method);
}

static bool method_same(struct hotspot *hs, uint32_t id, const struct mem_span *s)
{
	const struct method_entry *e = hs->methods.v[id - 1];
	uint64_t const_method;

	if (!s[0].ok || !s[1].ok)
		return false;
	memcpy(&const_method, s[0].dst, 8);
	return const_method == e->method.const_method &&
		method_identity(hs, (struct bytes){s[1].dst, s[1].len}) == e->identity &&
		method_class_same(e, &s[2], &s[3]);
}

static bool walk_check(struct hotspot *hs)
{
	const struct mem_span *s = hs->spans.v;
	bool same = true;

	for (size_t i = 0; i < hs->used_codes.n; i++, s++) {
		if (code_same(hs, hs->used_codes.v[i], s)) {
			hs->codes.v[hs->used_codes.v[i] - 1]->checked_ns = hs->now_ns;
			continue;
		}
		code_drop(hs, hs->used_codes.v[i]);
		hs->stats.replaced++;
		same = false;
	}
	for (size_t i = 0; i < hs->used_methods.n; i++, s += METHOD_SPANS) {
		if (method_same(hs, hs->used_methods.v[i], s)) {
			hs->methods.v[hs->used_methods.v[i] - 1]->checked_ns = hs->now_ns;
			continue;
		}
		method_drop(hs, hs->used_methods.v[i]);
		hs->stats.replaced++;
		same = false;
	}
	return same;
}

bool hotspot_walk_end(struct hotspot *hs)
{
	hs->walking = false;
	if (hs->used_codes.n + hs->used_methods.n == 0)
		return true;
	return spans_read(hs) && walk_check(hs);
}
