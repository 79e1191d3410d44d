#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/threads/thread_list.h"

/* java.lang.Thread objects of JavaThreads. The right one has the JavaThread* as its eetop. */

bool thread_oop(struct jvm *jvm, const struct hs_thread *t, uint64_t *ret)
{
	uint64_t slot = t->addr + jvm->l.jt_thread_obj.at;

	if (!jvm->l.jt_thread_obj.ok || !heap_mode_read(jvm))
		return false;
	/* An oop up to JDK 16, later a pointer to the slot with the oop. */
	if (jvm->l.jt_thread_obj.handle && (!mem_read_u64(jvm->mem, slot, &slot) || !object_ok(slot)))
		return false;
	return oop_from_slot(jvm, slot, ret);
}

bool hs_thread_name(struct hotspot *hs, const struct hs_thread *t, char *buf, size_t size)
{
	struct thread_list *list = hs->threads;
	uint64_t thread, eetop;

	if (size == 0 || !thread_oop(hs->jvm, t, &thread))
		return false;
	if (!java_thread_known(list->objects, thread)) {
		if (!list->names_tried)
			jvm_note(hs->jvm, "the fields of java.lang.Thread were not found: threads have "
					  "the kernel's names");
		list->names_tried = true;
		return false;
	}
	return java_thread_eetop(list->objects, thread, &eetop) && eetop == t->addr &&
	       java_thread_name(list->objects, thread, buf, size);
}
