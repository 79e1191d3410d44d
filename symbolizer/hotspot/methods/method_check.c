#include "symbolizer/base/hash.h"
#include "symbolizer/hotspot/methods/method_table.h"

/*
 * A method is identified by its ConstMethod pointer, the head of that ConstMethod, and the name of its class: the
 * pointer to the name, and the end of its text.
 */

static uint32_t identity_span(const struct hs_layout *l)
{
	const struct hs_field f[] = {l->cm_constants, l->cm_code_size, l->cm_name, l->cm_signature};

	return hs_fields_span(f, 4, CONST_METHOD_MAX);
}

uint64_t method_identity(const struct jvm *jvm, struct bytes cm)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t h = hash_mix(bytes_get(cm, l->cm_constants), bytes_get(cm, l->cm_code_size));

	h = hash_mix(h, bytes_get(cm, l->cm_name) << 16 | bytes_get(cm, l->cm_signature));
	return h ? h : 1;
}

void method_rest_spans(const struct jvm *jvm, const struct method_entry *e, struct mem_span ret[REST_SPANS])
{
	ret[REST_HEAD] = (struct mem_span){.addr = e->method.const_method, .len = identity_span(&jvm->l)};
	ret[REST_CLASS] = (struct mem_span){.addr = e->holder + jvm->l.klass_name.at, .len = 8};
	ret[REST_TAIL] = e->tail_len ? (struct mem_span){.addr = e->tail_addr, .len = e->tail_len} :
				       (struct mem_span){.addr = e->class_symbol, .len = 1};
}

bool method_same(const struct jvm *jvm, const struct method_entry *e, uint64_t const_method,
		 const struct mem_span rest[REST_SPANS])
{
	uint64_t symbol;

	if (!rest[REST_HEAD].ok || !rest[REST_CLASS].ok || !rest[REST_TAIL].ok ||
	    const_method != e->method.const_method ||
	    method_identity(jvm, (struct bytes){rest[REST_HEAD].dst, rest[REST_HEAD].len}) != e->identity)
		return false;
	if (!rest[REST_CLASS].len)
		return true;
	memcpy(&symbol, rest[REST_CLASS].dst, sizeof(symbol));
	return symbol == e->class_symbol &&
	       (!e->tail_len || hash_bytes(rest[REST_TAIL].dst, e->tail_len) == e->tail_hash);
}

void methods_spans(const struct method_table *table, struct mem_span *ret)
{
	for (size_t i = 0; i < table->methods.used.n; i++, ret += METHOD_SPANS) {
		const struct method_entry *e = method_entry(table, table->methods.used.v[i]);

		ret[0] = (struct mem_span){.addr = e->method.addr + table->jvm->l.method_const.at, .len = 8};
		method_rest_spans(table->jvm, e, ret + 1);
		if (table->unloads.seen.counter && method_is_recent(table, e))
			ret[1 + REST_CLASS].len = ret[1 + REST_TAIL].len = 0;
	}
}

bool methods_check(struct method_table *table, const struct mem_span *s)
{
	bool all = true;

	for (size_t i = 0; i < table->methods.used.n; i++, s += METHOD_SPANS) {
		struct method_entry *e = method_entry(table, table->methods.used.v[i]);
		uint64_t const_method = 0;

		if (s[0].ok)
			memcpy(&const_method, s[0].dst, sizeof(const_method));
		if (method_same(table->jvm, e, const_method, s + 1)) {
			e->head.checked_ns = table->jvm->moment.now_ns;
			continue;
		}
		method_drop(table, table->methods.used.v[i]);
		table->methods.replaced++;
		all = false;
	}
	return all;
}
