#include "symbolizer/hotspot/hs_private.h"

/*
 * Were classes redefined since a sample was taken? The methods of a class's old version are freed when nothing
 * runs them any more, and those of the next come to lie at the same addresses, in another order: what is read
 * there is a good method of the right class, and not the one that was sampled. The JVM counts, but only in
 * JvmtiExport::_redefinition_count (uint64_t, jvmtiExport.hpp, JDK 17 to 28), which is no entry of its tables: it
 * takes a libjvm.so with symbols. Classes that were never seen redefined have the benefit of the doubt.
 */
#define COUNTER "_ZN11JvmtiExport19_redefinition_countE"

void redefinitions_find(struct hotspot *hs, hs_symbol_fn *symbol, void *ctx)
{
	uint64_t address;

	if (symbol(ctx, COUNTER, &address) && addr_ok(address))
		jvm_count_find(hs, address, &hs->redefinitions.seen);
}

void redefinitions_poll(struct hotspot *hs)
{
	jvm_count_poll(hs, &hs->redefinitions.seen);
}

bool redefined_since_sample(struct hotspot *hs)
{
	return jvm_count_moved(hs, &hs->redefinitions.seen);
}

void redefined_note(struct hotspot *hs, uint32_t id)
{
	/* When there is no memory for it, it is noted the next time. */
	if (hs->redefinitions.seen.count)
		u64map_put(&hs->redefinitions.classes, hs->methods.v[id - 1]->holder, 1);
}

bool redefined_doubt(struct hotspot *hs, uint32_t id)
{
	const struct method_entry *e = hs->methods.v[id - 1];

	/* The count is read last, and seldom: it takes a system call. */
	return (e->added_ns > hs->sample_ns || u64map_get(&hs->redefinitions.classes, e->holder)) &&
		redefined_since_sample(hs);
}
