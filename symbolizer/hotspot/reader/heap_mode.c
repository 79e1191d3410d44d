#include "symbolizer/hotspot/reader/jvm.h"

static bool static_read(struct jvm *jvm, struct hs_field f, uint64_t *ret)
{
	return !f.ok || jvm_get(jvm, 0, f, ret);
}

bool heap_mode_read(struct jvm *jvm)
{
	struct heap_mode *m = &jvm->heap_mode;
	uint64_t oops_shift = 0, klasses_shift = 0;

	if (m->known)
		return true;
	m->narrow_oops = jvm_flag_true(jvm, "UseCompressedOops");
	/* JDK 27 removed the flag: compressed class pointers are always used. */
	m->narrow_klasses = jvm_flag_true(jvm, "UseCompressedClassPointers") || jvm->version.major >= 27;
	m->compact_headers = jvm_flag_true(jvm, "UseCompactObjectHeaders");
	m->z = jvm_flag_true(jvm, "UseZGC");
	/* The only mode from 24 on, a flag in 21 to 23. */
	m->z_generational =
		m->z && jvm->l.z_load_shift.ok && (jvm->version.major >= 24 || jvm_flag_true(jvm, "ZGenerational"));
	if (m->narrow_oops && (!static_read(jvm, jvm->l.oops_base, &m->oops_base) ||
			       !static_read(jvm, jvm->l.oops_shift, &oops_shift) || oops_shift > 8))
		return false;
	/* The shift is -1 without compressed class pointers. */
	if ((m->narrow_klasses || m->compact_headers) &&
	    (!static_read(jvm, jvm->l.klasses_base, &m->klasses_base) ||
	     !static_read(jvm, jvm->l.klasses_shift, &klasses_shift) || klasses_shift > 16))
		return false;
	m->oops_shift = (unsigned)oops_shift;
	m->klasses_shift = (unsigned)klasses_shift;
	m->known = true;
	return true;
}
