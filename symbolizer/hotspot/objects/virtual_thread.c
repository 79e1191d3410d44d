#include "symbolizer/hotspot/objects/hs_virtual.h"

#include <inttypes.h>
#include <stdio.h>

#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/*
 * Learns the way from a Continuation to its virtual thread. The Runnable of the Continuation is an object of the class
 * that java.lang.VirtualThread's VThreadContinuation.wrap() makes, with the thread in a field (JDK 21, 25). The
 * thread's `cont` must be that Continuation.
 */
static bool offsets_read(struct java_objects *objects, uint64_t continuation)
{
	struct virtual_offsets *o = &objects->virtual_threads;
	struct jvm *jvm = objects->jvm;
	uint64_t klass, run, thread;

	o->cont_klass = oop_klass(jvm, continuation);
	klass = klass_find_super(jvm, o->cont_klass, "jdk/internal/vm/Continuation");
	if (!klass)
		return false;
	o->target = klass_field_offset(jvm, klass, "target", "Ljava/lang/Runnable;");
	if (o->target < 0 || !oop_load(jvm, continuation + (uint64_t)o->target, &run))
		return false;
	klass = oop_klass(jvm, run);
	o->thread = klass ? klass_field_offset(jvm, klass, "val$vthread", "Ljava/lang/VirtualThread;") : -1;
	if (o->thread < 0 || !oop_load(jvm, run + (uint64_t)o->thread, &thread))
		return false;
	o->run_klass = klass;
	o->klass = oop_klass(jvm, thread);
	if (!o->klass || !klass_name_is(jvm, o->klass, "java/lang/VirtualThread"))
		return false;
	o->cont = klass_field_offset(jvm, o->klass, "cont", "Ljdk/internal/vm/Continuation;");
	klass = klass_find_super(jvm, o->klass, "java/lang/Thread");
	o->id = klass ? klass_field_offset(jvm, klass, "tid", "J") : -1;
	o->known = o->cont >= 0 && o->id >= 0;
	return o->known;
}

bool hs_virtual_thread_name(struct hotspot *hs, uint64_t continuation, char *buf, size_t size)
{
	const struct virtual_offsets *o = &hs->objects->virtual_threads;
	struct jvm *jvm = hs->jvm;
	uint64_t run, thread, back, id;

	if (!object_ok(continuation) || !heap_mode_read(jvm) ||
	    (!o->known && !offsets_read(hs->objects, continuation)) || oop_klass(jvm, continuation) != o->cont_klass ||
	    !oop_load(jvm, continuation + (uint64_t)o->target, &run) || oop_klass(jvm, run) != o->run_klass ||
	    !oop_load(jvm, run + (uint64_t)o->thread, &thread) || oop_klass(jvm, thread) != o->klass ||
	    !oop_load(jvm, thread + (uint64_t)o->cont, &back) || back != continuation)
		return false;
	if (!java_thread_name(hs->objects, thread, buf, size))
		return false; /* its name is not known; only a thread without one is called by its id */
	if (buf[0])
		return true;
	if (!mem_read_u64(jvm->mem, thread + (uint64_t)o->id, &id))
		return false;
	snprintf(buf, size, "#%" PRIu64, id);
	return true;
}
