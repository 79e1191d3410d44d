#ifndef JS_HOTSPOT_THREAD_LIST_H
#define JS_HOTSPOT_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/reader/jvm.h"
#include "symbolizer/hotspot/threads/hs_thread.h"

struct java_objects;

/*
 * The JVM's threads: JavaThreads, and the JVM's own threads, which are in another list. Zero-initialise; then set the
 * first two members.
 */
struct thread_list {
	struct jvm *jvm; /* borrowed, both */
	struct java_objects *objects;

	VEC(struct hs_thread) threads;
	struct u64map ids; /* tid -> index + 1 */
	uint64_t addr, read_ns; /* the ThreadsList* last read, and when */
	uint64_t cost_ns; /* time that this took */
	bool incomplete;
	bool names_tried;

	uint64_t vm_threads; /* NonJavaThread::_the_list; 0: unknown */
	uint64_t vm_threads_from_ns, vm_threads_cost_ns; /* when searches began; time of all searches */
};

void thread_list_done(struct thread_list *list);

/*
 * Has the JVM listed a thread? Before that, its interpreter and stubs may be incomplete, since they are generated one
 * by one (init_globals() in HotSpot's runtime/init.cpp, 8 to 25). True if the list cannot be read.
 */
bool threads_begun(struct jvm *jvm);

/* thread_name.c: the java.lang.Thread, not verified yet. */
bool thread_oop(struct jvm *jvm, const struct hs_thread *t, uint64_t *ret);

/* vm_threads.c: finds the address of the list by its symbol. */
void vm_threads_find(struct thread_list *list, hs_symbol_fn *symbol, void *ctx);

#endif
