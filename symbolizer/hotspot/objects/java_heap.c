#include "symbolizer/hotspot/objects/java_objects.h"

/*
 * Objects of the Java heap: references depend on the collector, classes on the header layout. Objects may move while
 * they are read, so callers check whether the results make sense (thread_name.c).
 */

bool oop_from_slot(struct jvm *jvm, uint64_t slot, uint64_t *ret)
{
	uint64_t raw;

	if (!addr_ok(slot) || !mem_read_u64(jvm->mem, slot, &raw) || raw == 0)
		return false;
	if (jvm->heap_mode.z)
		return z_resolve(jvm, raw, ret);
	*ret = raw;
	return object_ok(raw);
}

bool oop_load(struct jvm *jvm, uint64_t addr, uint64_t *ret)
{
	const struct heap_mode *m = &jvm->heap_mode;
	uint32_t narrow;

	if (!m->narrow_oops)
		return oop_from_slot(jvm, addr, ret);
	if (!addr_ok(addr) || !mem_read_u32(jvm->mem, addr, &narrow) || narrow == 0)
		return false;
	*ret = m->oops_base + ((uint64_t)narrow << m->oops_shift);
	return object_ok(*ret);
}

uint64_t oop_klass(struct jvm *jvm, uint64_t oop)
{
	const struct heap_mode *m = &jvm->heap_mode;
	uint64_t v = 0, klass;

	if (m->compact_headers) {
		int64_t shift = jvm->l.c.klass_shift.ok ? jvm->l.c.klass_shift.value : 42;

		if (!mem_read_u64(jvm->mem, oop, &v) || shift < 0 || shift > 63)
			return 0;
		klass = m->klasses_base + ((v >> shift) << m->klasses_shift);
	} else if (m->narrow_klasses) {
		if (!jvm_get(jvm, oop, jvm->l.oop_narrow_klass, &v))
			return 0;
		klass = m->klasses_base + (v << m->klasses_shift);
	} else {
		if (!jvm_get(jvm, oop, jvm->l.oop_klass, &klass))
			return 0;
	}
	return object_ok(klass) ? klass : 0;
}
