#include "symbolizer/hotspot/hs_private.h"

/*
 * Bits of threadStatus: those of JVMTI's GetThreadState, since JDK 5 (javaThreadStatus.hpp in 17 and
 * 25, java_lang_Thread::ThreadStatus in 8).
 */
enum { STATUS_SLEEPING = 0x40, STATUS_OBJECT = 0x100, STATUS_PARKED = 0x200, STATUS_MONITOR = 0x400 };

/* From the first Thread met. */
static bool offsets_read(struct hotspot *hs, uint64_t thread)
{
	struct java_offsets *o = &hs->java;
	uint64_t klass = klass_find_super(hs, oop_klass(hs, thread), "java/lang/Thread"), holder;

	if (!klass)
		return false;
	o->thread_holder = klass_field_offset(hs, klass, "holder", "Ljava/lang/Thread$FieldHolder;");
	if (o->thread_holder < 0) {
		o->status = klass_field_offset(hs, klass, "threadStatus", "I");
	} else {
		if (!oop_load(hs, thread + (uint64_t)o->thread_holder, &holder))
			return false;
		klass = holder ? oop_klass(hs, holder) : 0;
		o->status = klass ? klass_field_offset(hs, klass, "threadStatus", "I") : -1;
	}
	o->status_known = o->status >= 0;
	return o->status_known;
}

static bool status_read(struct hotspot *hs, const struct hs_thread *t, uint32_t *ret)
{
	uint64_t at;

	if (!hs->l.jt_thread_obj.ok || !heap_mode_read(hs) || !thread_oop(hs, t, &at) || !at ||
	    (!hs->java.status_known && !offsets_read(hs, at)))
		return false;
	if (hs->java.thread_holder >= 0 &&
	    (!oop_load(hs, at + (uint64_t)hs->java.thread_holder, &at) || !at))
		return false;
	return mem_read_u32(hs->mem, at + (uint64_t)hs->java.status, ret);
}

enum hs_wait hs_thread_wait(struct hotspot *hs, const struct hs_thread *t)
{
	uint32_t status;

	if (!status_read(hs, t, &status))
		return HS_WAIT_UNKNOWN;
	if (status & STATUS_MONITOR)
		return HS_WAIT_MONITOR;
	if (status & STATUS_SLEEPING)
		return HS_WAIT_SLEEP;
	if (status & STATUS_OBJECT)
		return HS_WAIT_OBJECT;
	return status & STATUS_PARKED ? HS_WAIT_PARK : HS_WAIT_UNKNOWN;
}
