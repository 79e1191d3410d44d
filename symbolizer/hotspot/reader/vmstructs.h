#ifndef JS_HOTSPOT_VMSTRUCTS_H
#define JS_HOTSPOT_VMSTRUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/hotspot/reader/jvm_facts.h"

/*
 * The JVM's own tables (gHotSpotVMStructs, ...Types, ...IntConstants, ...LongConstants; JDK
 * src/hotspot/share/runtime/vmStructs.hpp), copied and searchable. Strings live as long as the copy.
 */
struct err;
struct mem;
struct vmstructs;

/* -EAGAIN: libjvm is mapped but not yet initialised; -ENOTSUP: it exports no such tables. */
int vmstructs_read(struct mem *mem, hs_symbol_fn *symbol, void *ctx, struct vmstructs **ret, struct err *err);
void vmstructs_free(struct vmstructs *v);

struct vm_field {
	const char *type; /* type string of the field; "" if the JVM has none */
	bool is_static;
	uint64_t at; /* offset, or the run-time address of a static */
};

/* Searches the superclasses of `type`, too. */
bool vmstructs_field(const struct vmstructs *v, const char *type, const char *field, struct vm_field *ret);
bool vmstructs_size(const struct vmstructs *v, const char *type, uint64_t *ret);
bool vmstructs_constant(const struct vmstructs *v, const char *name, int64_t *ret);

#endif
