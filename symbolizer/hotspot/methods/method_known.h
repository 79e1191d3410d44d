#ifndef JS_HOTSPOT_METHOD_KNOWN_H
#define JS_HOTSPOT_METHOD_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/base/u64map.h"

struct method_entry;
struct method_table;

/*
 * What methods that were read before tell about new ones: methods of one class share its constant pool, and many methods
 * share symbols. So that takes no reads of memory, as long as no class has been unloaded or redefined since.
 *
 * For JVMs that count both. The counts must be read again afterwards: if one has moved, what was found here may be wrong.
 * Nothing is found while reads are recorded, since a replay may start with any sample. The memory counts as that of
 * copies. Zero-initialise.
 */
struct method_known {
	struct u64map pools, symbols; /* ConstantPool*: a method's id; Symbol*: an id and which of its texts */
};

/* Does this JVM count both, and was no class redefined, as far as the counts were read before? */
bool method_known_usable(const struct method_table *t);

void method_known_done(struct method_known *k);

/* A method with this constant pool, whose class and source file are those of the new one. NULL: none is known. */
const struct method_entry *method_known_pool(const struct method_table *t, uint64_t pool);
const char *method_known_symbol(const struct method_table *t, uint64_t symbol); /* its text; NULL: not known */

/* A method was added; with the addresses of its name, its signature and the name of its source file. */
void method_known_add(struct method_table *t, uint32_t id, const uint64_t symbol[3]);

#endif
