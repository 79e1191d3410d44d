#include "symbolizer/hotspot/methods/unloads.h"
#include "symbolizer/hotspot/reader/jvm.h"

/*
 * Were classes redefined since a sample was taken? Methods of a class's old version are freed when they are no longer
 * executed, and those of the next version may get the same addresses in another order. So the method read there is a
 * valid one of the right class, but not the one that was sampled. The JVM counts redefinitions only in
 * JvmtiExport::_redefinition_count (uint64_t, jvmtiExport.hpp, JDK 17 to 28), which its tables do not have, so a
 * libjvm.so with symbols is needed. Classes that were never seen to be redefined are trusted.
 */
#define COUNTER "_ZN11JvmtiExport19_redefinition_countE"

void redefinitions_find(struct jvm *jvm, struct redefinitions *r, hs_symbol_fn *symbol, void *ctx)
{
	uint64_t address;

	if (symbol(ctx, COUNTER, &address) && addr_ok(address))
		jvm_count_find(jvm, address, &r->seen);
}

void redefinitions_poll(struct jvm *jvm, struct redefinitions *r)
{
	jvm_count_poll(jvm, &r->seen);
}

bool redefined_since_sample(struct jvm *jvm, struct redefinitions *r, uint64_t until_ns)
{
	return jvm_count_moved(jvm, &r->seen, until_ns);
}

void redefined_note(struct redefinitions *r, uint64_t klass)
{
	/* If memory runs out, the class will be noted the next time. */
	if (r->seen.count)
		u64map_put(&r->classes, klass, 1);
}

bool redefined_doubt(struct jvm *jvm, struct redefinitions *r, uint64_t klass, uint64_t added_ns)
{
	/* The count is checked last, since reading it may take a system call. */
	if (u64map_get(&r->classes, klass))
		return redefined_since_sample(jvm, r, JVM_COUNT_NOW);
	return added_ns > jvm->moment.sample_ns && redefined_since_sample(jvm, r, added_ns);
}
