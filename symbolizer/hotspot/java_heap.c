#include "symbolizer/hotspot/hs_private.h"

/*
 * Objects of the Java heap: references as each collector stores them, classes as each header layout
 * has them. Objects may move while this reads: what comes back is checked by its meaning (thread_name.c).
 */

static bool static_read(struct hotspot *hs, struct hs_field f, uint64_t *ret)
{
	return !f.ok || hs_get(hs, 0, f, ret);
}

bool heap_mode_read(struct hotspot *hs)
{
	struct heap_mode *m = &hs->heap_mode;
	uint64_t oops_shift = 0, klasses_shift = 0;

	if (m->known)
		return true;
	m->narrow_oops = hs_flag_true(hs, "UseCompressedOops");
	/* 27 has no such flag any more: always on. */
	m->narrow_klasses = hs_flag_true(hs, "UseCompressedClassPointers") ||
		hs->version.major >= 27;
	m->compact_headers = hs_flag_true(hs, "UseCompactObjectHeaders");
	m->z = hs_flag_true(hs, "UseZGC");
	/* The only mode from 24 on; 21 to 23 ask. */
	m->z_generational = m->z && hs->l.z_load_shift.ok &&
		(hs->version.major >= 24 || hs_flag_true(hs, "ZGenerational"));
	if (m->narrow_oops &&
		(!static_read(hs, hs->l.oops_base, &m->oops_base) ||
			!static_read(hs, hs->l.oops_shift, &oops_shift) || oops_shift > 8))
		return false;
	/* Where they are not in use the shift is -1. */
	if ((m->narrow_klasses || m->compact_headers) &&
		(!static_read(hs, hs->l.klasses_base, &m->klasses_base) ||
			!static_read(hs, hs->l.klasses_shift, &klasses_shift) || klasses_shift > 16))
		return false;
	m->oops_shift = (unsigned)oops_shift;
	m->klasses_shift = (unsigned)klasses_shift;
	m->known = true;
	return true;
}

bool oop_from_slot(struct hotspot *hs, uint64_t slot, uint64_t *ret)
{
	uint64_t raw;

	if (!addr_ok(slot) || !mem_read_u64(hs->mem, slot, &raw) || raw == 0)
		return false;
	if (hs->heap_mode.z)
		return z_resolve(hs, raw, ret);
	*ret = raw;
	return object_ok(raw);
}

bool oop_load(struct hotspot *hs, uint64_t addr, uint64_t *ret)
{
	const struct heap_mode *m = &hs->heap_mode;
	uint32_t narrow;

	if (!m->narrow_oops)
		return oop_from_slot(hs, addr, ret);
	if (!addr_ok(addr) || !mem_read_u32(hs->mem, addr, &narrow) || narrow == 0)
		return false;
	*ret = m->oops_base + ((uint64_t)narrow << m->oops_shift);
	return object_ok(*ret);
}

uint64_t oop_klass(struct hotspot *hs, uint64_t oop)
{
	const struct heap_mode *m = &hs->heap_mode;
	uint64_t v = 0, klass;

	if (m->compact_headers) {
		int64_t shift = hs->l.c.klass_shift.ok ? hs->l.c.klass_shift.value : 42;

		if (!mem_read_u64(hs->mem, oop, &v) || shift < 0 || shift > 63)
			return 0;
		klass = m->klasses_base + ((v >> shift) << m->klasses_shift);
	} else if (m->narrow_klasses) {
		if (!hs_get(hs, oop, hs->l.oop_narrow_klass, &v))
			return 0;
		klass = m->klasses_base + (v << m->klasses_shift);
	} else {
		if (!hs_get(hs, oop, hs->l.oop_klass, &klass))
			return 0;
	}
	return object_ok(klass) ? klass : 0;
}
