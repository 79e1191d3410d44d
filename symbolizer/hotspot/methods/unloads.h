#ifndef JS_HOTSPOT_UNLOADS_H
#define JS_HOTSPOT_UNLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/u64map.h"
#include "symbolizer/hotspot/reader/jvm_facts.h"

struct jvm;
struct method_table;

/* A count in the JVM that only grows; jvm_count.c. */
struct jvm_count {
	uint64_t counter; /* its run-time address; 0: not found */
	uint64_t count;
	uint64_t since_ns; /* `count` has had this value since then or earlier; 0: it has never changed */
	uint64_t polled_ns; /* it was last read then or later; CLOCK_MONOTONIC */
};
void jvm_count_find(struct jvm *jvm, uint64_t address, struct jvm_count *ret); /* not if it is unreadable */
void jvm_count_poll(struct jvm *jvm, struct jvm_count *c);
/*
 * Has it changed between the sample of the current walk and `until_ns`? A reading made later than that, for another
 * sample or another frame, answers this, too. JVM_COUNT_NOW: up to the present, which always takes a reading.
 */
#define JVM_COUNT_NOW UINT64_MAX
bool jvm_count_moved(struct jvm *jvm, struct jvm_count *c, uint64_t until_ns);

/* The classes that the JVM has unloaded; unloads.c. */
struct unloads {
	struct jvm_count seen;
	uint64_t tried_ns;
	uint32_t tries;
	uint64_t lasting[4]; /* ClassLoaderData of loaders that live as long as the JVM */
	size_t n_lasting;
	uint32_t looks; /* of loader_lasts() for another one */
};
void unloads_poll(struct jvm *jvm, struct unloads *u);
/* Were there any between the sample of the current walk and `until_ns`, as in jvm_count_moved()? false, too, if unknown. */
bool unloads_since_sample(struct jvm *jvm, struct unloads *u, uint64_t until_ns);
bool unloads_never_affects(struct jvm *jvm, struct unloads *u,
			   uint64_t klass); /* does its loader live as long as the JVM? */
/* The same of a class whose ClassLoaderData is `loader`, mostly without reading anything; false, too, if it is unknown. */
bool loader_lasts(struct jvm *jvm, struct unloads *u, uint64_t klass, uint64_t loader);

/* Redefined classes; redefinitions.c. */
struct redefinitions {
	struct jvm_count seen;
	struct u64map classes; /* InstanceKlass* of classes in which a method was replaced at its address */
};
void redefinitions_find(struct jvm *jvm, struct redefinitions *r, hs_symbol_fn *symbol, void *ctx);
void redefinitions_poll(struct jvm *jvm, struct redefinitions *r);
bool redefined_since_sample(struct jvm *jvm, struct redefinitions *r,
			    uint64_t until_ns); /* like unloads_since_sample() */
/* Notes that another method is now at the address of one of this class's methods. */
void redefined_note(struct redefinitions *r, uint64_t klass);
/* May a method of this class, first read at added_ns, have come to its address after the sample? */
bool redefined_doubt(struct jvm *jvm, struct redefinitions *r, uint64_t klass, uint64_t added_ns);

#endif
