#include "symbolizer/hotspot/methods/callee.h"

#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"

/*
 * The operand of a rewritten invoke is the index, in the processor's byte order, of an entry with the resolved method:
 * ConstantPoolCacheEntry up to JDK 22 (cpCache.hpp), ResolvedMethodEntry from 23 on (resolvedMethodEntry.hpp). Both
 * contain the bytecode for which they were resolved.
 */
enum {
	OP_INVOKEVIRTUAL = 182,
	OP_INVOKESPECIAL = 183,
	OP_INVOKESTATIC = 184,
	FAST_INVOKEVFINAL = 227, /* 226 in JDK 8 */
	ENTRY_MAX = 64,
	INDEX_SHIFT_BYTECODE_1 = 16, /* of ConstantPoolCacheEntry::_indices */
	INDEX_SHIFT_BYTECODE_2 = 24,
};

/* ResolvedMethodEntry of product builds. Only _cpool_index is exported, and is checked against this. */
enum { RESOLVED_METHOD = 0, RESOLVED_CPOOL = 16, RESOLVED_FLAGS = 21, RESOLVED_1 = 22, RESOLVED_2 = 23 };
enum { RESOLVED_SIZE = 24, RESOLVED_VFINAL = 1 };

struct invoke {
	uint8_t op; /* as in the JVM specification */
	uint16_t index;
};

static bool invoke_at(const struct jvm *jvm, const struct hs_method *m, int32_t bci, struct invoke *ret)
{
	uint8_t op;

	if (!m->bytecodes || bci < 0 || bci + 3 > m->code_size)
		return false;
	op = m->bytecodes[bci];
	if (op == (jvm->version.major < 9 ? FAST_INVOKEVFINAL - 1 : FAST_INVOKEVFINAL))
		op = OP_INVOKEVIRTUAL;
	if (op < OP_INVOKEVIRTUAL || op > OP_INVOKESTATIC)
		return false;
	ret->op = op;
	memcpy(&ret->index, m->bytecodes + bci + 1, 2);
	return true;
}

static uint64_t entry_word(const uint8_t *entry, struct hs_field f)
{
	return bytes_get((struct bytes){entry, ENTRY_MAX}, f);
}

/* JDK 8 to 22. f1: for static and special; f2: for virtual, if only that method is possible. */
static uint64_t method_in_cache(struct jvm *jvm, uint64_t cache, struct invoke v)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t size = l->size.cp_cache_entry, indices;
	uint8_t entry[ENTRY_MAX] = {0}, by_op;

	if (!l->cpce_indices.ok || !l->cpce_f1.ok || !l->cpce_f2.ok || !l->cpce_flags.ok || !l->c.vfinal_shift.ok ||
	    size > sizeof(entry) || !mem_read(jvm->mem, cache + l->size.cp_cache + v.index * size, entry, size))
		return 0;
	indices = entry_word(entry, l->cpce_indices);
	if (v.op != OP_INVOKEVIRTUAL) {
		by_op = (uint8_t)(indices >> INDEX_SHIFT_BYTECODE_1);
		return by_op == v.op ? entry_word(entry, l->cpce_f1) : 0;
	}
	by_op = (uint8_t)(indices >> INDEX_SHIFT_BYTECODE_2);
	if (by_op != v.op || !(entry_word(entry, l->cpce_flags) >> (l->c.vfinal_shift.value & 63) & 1))
		return 0;
	return entry_word(entry, l->cpce_f2);
}

/* JDK 23 on. */
static uint64_t method_resolved(struct jvm *jvm, uint64_t cache, struct invoke v)
{
	const struct hs_layout *l = &jvm->l;
	uint8_t entry[RESOLVED_SIZE];
	uint64_t array, method;
	uint32_t length;

	if (l->size.resolved_method != RESOLVED_SIZE || !l->resolved_cpool.ok ||
	    l->resolved_cpool.at != RESOLVED_CPOOL || !jvm_get(jvm, cache, l->cpc_methods, &array) ||
	    !object_ok(array) || !mem_read_u32(jvm->mem, array, &length) || v.index >= length ||
	    !mem_read(jvm->mem, array + 8 + (uint64_t)v.index * RESOLVED_SIZE, entry, sizeof(entry)))
		return 0;
	if (v.op == OP_INVOKEVIRTUAL) {
		if (entry[RESOLVED_2] != v.op || !(entry[RESOLVED_FLAGS] & RESOLVED_VFINAL))
			return 0;
	} else if (entry[RESOLVED_1] != v.op) {
		return 0;
	}
	memcpy(&method, entry + RESOLVED_METHOD, 8);
	return method;
}

uint32_t hs_callee_at(struct hotspot *hs, uint32_t method_id, int32_t bci)
{
	const struct hs_method *m = hs_method(hs, method_id);
	uint64_t constants, cache, method;
	struct invoke v;

	if (!m || !invoke_at(hs->jvm, m, bci, &v) ||
	    !jvm_get(hs->jvm, m->const_method, hs->jvm->l.cm_constants, &constants) || !object_ok(constants) ||
	    !jvm_get(hs->jvm, constants, hs->jvm->l.cp_cache, &cache) || !object_ok(cache))
		return 0;
	method = hs->jvm->l.cpc_methods.ok ? method_resolved(hs->jvm, cache, v) : method_in_cache(hs->jvm, cache, v);
	return object_ok(method) ? hs_method_find(hs, method) : 0;
}
