#ifndef JS_HOTSPOT_UNLOADS_H
#define JS_HOTSPOT_UNLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/hotspot/reader/jvm_facts.h"
#include "symbolizer/hotspot/reader/u64map.h"

struct jvm;
struct method_table;

/* A number in the JVM that goes up; jvm_count.c. */
struct jvm_count {
	uint64_t counter; /* its address; 0: not found */
	uint64_t count;
	uint64_t since_ns; /* it was read first at that time, or before; 0: it never changed */
};
bool jvm_count_find(struct jvm *jvm, uint64_t address, struct jvm_count *ret); /* false: not to be read */
void jvm_count_poll(struct jvm *jvm, struct jvm_count *c);
bool jvm_count_moved(struct jvm *jvm, struct jvm_count *c); /* since the sample of the present walk */

/* Classes that the JVM has unloaded; unloads.c. */
struct unloads {
	struct jvm_count seen;
	uint64_t tried_ns;
	uint32_t tries;
	uint64_t lasting[4]; /* ClassLoaderData of loaders that live as long as the JVM */
	size_t n_lasting;
};
void unloads_poll(struct jvm *jvm, struct unloads *u);
/* Since the sample of the present walk; false, too, when it cannot be known. */
bool unloads_since_sample(struct jvm *jvm, struct unloads *u);
bool unloads_spare(struct jvm *jvm, struct unloads *u, uint64_t klass); /* its loader lives as long as the JVM */

/* Classes that are redefined; redefinitions.c. */
struct redefinitions {
	struct jvm_count seen;
	struct u64map classes; /* InstanceKlass* of which a method changed in place */
};
void redefinitions_find(struct jvm *jvm, struct redefinitions *r, hs_symbol_fn *symbol, void *ctx);
void redefinitions_poll(struct jvm *jvm, struct redefinitions *r);
bool redefined_since_sample(struct jvm *jvm, struct redefinitions *r); /* as unloads_since_sample() */
/* At the address of one of its methods is another one now. */
void redefined_note(struct redefinitions *r, uint64_t klass);
/* May a method of this class, first read at added_ns, have come to its address since the sample? */
bool redefined_doubt(struct jvm *jvm, struct redefinitions *r, uint64_t klass, uint64_t added_ns);

#endif
