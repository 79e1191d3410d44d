#ifndef JS_HOTSPOT_METHOD_TABLE_H
#define JS_HOTSPOT_METHOD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/hotspot/methods/interned.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/methods/unloads.h"
#include "symbolizer/hotspot/reader/jvm.h"

enum {
	METHOD_BYTES_MAX = 64 << 10, /* of bytecodes; of a line table */
	CONST_METHOD_MAX = 256,
	CLASS_TAIL_MAX = 24,
};

struct method_entry {
	struct entry head; /* must be the first member. key: Method* */
	struct hs_method method;
	uint64_t identity; /* hash of the ConstMethod's head */
	/* The class is also checked by name, since a class loader may get the same addresses as an unloaded one. */
	uint64_t holder, class_symbol; /* InstanceKlass*, its Symbol* */
	uint64_t pool; /* ConstantPool* */
	uint64_t tail_addr, tail_hash; /* the end of the symbol's text */
	uint8_t tail_len; /* 0: not known */
	uint64_t unloads; /* the count of unloaded classes when it was last read */
	uint64_t added_ns, confirmed_ns; /* when it was first read, and last found unchanged; clock_monotonic_ns() */
};

/* Methods by id, with data to check whether they were replaced. Zero-initialise; then set jvm and methods.copies. */
struct method_table {
	struct jvm *jvm; /* borrowed */
	struct interned methods;
	struct arena parts; /* temporary memory while a method is read */
	struct unloads unloads;
	struct redefinitions redefinitions;
	struct u64map lasting; /* InstanceKlass* of a loader that lives as long as the JVM -> id of a method of it */
	uint64_t read_ns; /* the memory of a method was last read then or earlier */
	hs_gone_method_fn *gone; /* NULL: none */
	void *gone_ctx;
	uint64_t bad; /* number of Method*s that did not look like a method */
};

void method_table_done(struct method_table *t);

static inline struct method_entry *method_entry(const struct method_table *t, uint32_t id) /* like interned_get() */
{
	return (struct method_entry *)interned_get(&t->methods, id);
}
/*
 * Have no classes been unloaded since it was last read, as far as the JVM's count is known? It counts a class before it
 * frees anything of it.
 */
static inline bool method_is_recent(const struct method_table *t, const struct method_entry *e)
{
	return e->unloads == t->unloads.seen.count;
}
/*
 * If so, and if no method of its class was seen to be replaced by a redefinition, then what its Method points to shows
 * whether it is still there.
 */
static inline bool method_is_certain(const struct method_table *t, const struct method_entry *e)
{
	return t->unloads.seen.counter && method_is_recent(t, e) && !u64map_get(&t->redefinitions.classes, e->holder);
}
const struct hs_method *method_get(const struct method_table *t, uint32_t id); /* like hs_method() */
/*
 * Interns many methods in a few batches; id 0: not a method. Those that are known are not read if the JVM's counts, as of
 * since_ns or later, show that they are the same. Returns 0 or -ENOMEM.
 */
int methods_intern(struct method_table *t, const uint64_t *addrs, size_t n, uint64_t since_ns, uint32_t *ret);
/* Copies the entry and gives it an id. 0: out of memory. */
uint32_t method_entry_add(struct method_table *t, struct method_entry *e, uint32_t stamp);
void method_drop(struct method_table *t, uint32_t id);
void methods_drop_since(struct method_table *t, uint32_t known); /* those with higher ids */

/* gone_method.c: the method at that address when the sample was taken. `fresh`: the one there now, or NULL. */
uint32_t gone_method_find(struct method_table *t, uint64_t method, const struct hs_method *fresh);

/* method_check.c: a hash of the fields in a ConstMethod's head that identify the method. */
uint64_t method_identity(const struct jvm *jvm, struct bytes const_method);
/*
 * The spans to check besides the ConstMethod* in the Method: its head, the Symbol* in the class, the end of its text.
 * dst is not set.
 */
enum { REST_HEAD, REST_CLASS, REST_TAIL, REST_SPANS };
void method_rest_spans(const struct jvm *jvm, const struct method_entry *e, struct mem_span ret[REST_SPANS]);
/*
 * Is it still the method that was interned, judging by these spans, which were just read? Class and text are not
 * compared if their length is 0.
 */
bool method_same(const struct jvm *jvm, const struct method_entry *e, uint64_t const_method,
		 const struct mem_span rest[REST_SPANS]);

/*
 * The methods that a walk used: spans to read, and to compare afterwards in the same order. Nothing is read of classes
 * that certainly have not been unloaded.
 */
enum { METHOD_SPANS = 1 + REST_SPANS }; /* of each */
void methods_spans(const struct method_table *t, struct mem_span *ret); /* of all methods; dst is not set */
bool methods_check(struct method_table *t,
		   const struct mem_span *spans); /* drops methods that were replaced; false: there were some */

void methods_forget_begin(struct method_table *t); /* forget.h */

#endif
