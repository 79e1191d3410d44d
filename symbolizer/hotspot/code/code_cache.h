#ifndef JS_HOTSPOT_CODE_CACHE_H
#define JS_HOTSPOT_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code/blob.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/gone.h"
#include "symbolizer/hotspot/methods/method_table.h"
#include "symbolizer/hotspot/reader/jvm.h"

enum {
	HEAPS_MAX = 16,
	PC_CACHE = 8192, /* power of two */
	BLOB_COPY_MAX = 4 << 20, /* of one code blob, all parts together */
	CODE_BYTES_MAX = 512 << 10,
	SCOPE_METHODS_MAX = 8192, /* different methods in one nmethod */
};

struct code_heap {
	uint64_t addr; /* CodeHeap* */
	uint64_t low, high, reserved_high; /* [low, high) committed */
	uint64_t segmap, segmap_high;
	unsigned log2_segment;
};

struct codelet {
	uint64_t start, end;
	const char *description;
	enum stub_role role;
};

/* A code blob that is in the code cache now. */
struct live_code {
	uint64_t start, end; /* the blob */
	uint32_t id;
};

struct pc_slot {
	uint64_t pc;
	uint32_t id, generation;
};

struct code_entry {
	struct entry head; /* must be the first member. key: a hash of blob and identity */
	uint64_t read_ns; /* clock_monotonic_ns(); beside the head, since each frame of a walk looks at both */
	struct code code;
	uint64_t identity; /* of the blob's header, blob_identity() */
	uint64_t method; /* Method* */
	const uint64_t
		*metadata; /* by index: Method*s and others, of code.n_methods; NULL: all methods have been read */
};

/* The interpreter's codelets; interpreter.c. */
struct interpreter {
	uint64_t start, end;
	struct codelet *codelets; /* sorted */
	size_t n;
};

/* Entry points by name, in the blobs of StubRoutines and in other generated code; stub_names.c. */
struct stubs {
	VEC(struct stub_var {
		uint64_t addr; /* of the variable */
		const char *name;
	})
	vars;
	struct stub_name *names; /* sorted */
	size_t n;
	uint64_t call_stub_return;
	uint64_t cont_barrier_var, cont_barrier, cont_return_var, cont_return;
};

/* Zero-initialise; then set the first two members, and codes.copies. */
struct code_cache {
	struct jvm *jvm; /* borrowed, both */
	struct method_table *methods;

	struct code_heap heap[HEAPS_MAX];
	size_t n_heaps;
	uint64_t low, high; /* reserved, all heaps */
	uint32_t blob_span; /* bytes to read of a blob's header, up to BLOB_SPAN_MAX */
	struct interpreter interpreter;
	struct stubs stubs;

	struct interned codes;
	VEC(struct live_code) live; /* sorted by start, disjoint */
	uint32_t pc_generation;
	struct pc_slot pcs[PC_CACHE];
	struct arena parts; /* temporary memory while a code blob is read */
	hs_gone_fn *gone; /* NULL: none */
	void *gone_ctx;
	uint64_t lookups, remote_lookups, bad; /* counts; bad: unreadable blobs */
};

/* Errors as from hotspot_open(). */
int code_cache_open(struct code_cache *c, const struct vmstructs *tables, hs_symbol_fn *symbol, void *ctx,
		    struct err *err);
void code_cache_done(struct code_cache *c);

/* code.c */
uint32_t code_find(struct code_cache *c, uint64_t pc); /* like hs_code_find() */
static inline struct code_entry *code_entry(const struct code_cache *c, uint32_t id) /* like interned_get() */
{
	return (struct code_entry *)interned_get(&c->codes, id);
}
const struct code *code_get(const struct code_cache *c, uint32_t id); /* like hs_code() */
const struct code *code_peek(const struct code_cache *c, uint64_t pc); /* only if already read; not noted */
struct code code_of_blob(struct code_cache *c, const struct blob *b); /* the facts in its header */
/* Copies the entry and gives it an id. 0: out of memory. */
uint32_t code_entry_add(struct code_cache *c, struct code_entry *e, uint32_t stamp);
void code_drop(struct code_cache *c, uint32_t id);
static inline bool in_code_cache(const struct code_cache *c, uint64_t pc)
{
	return pc >= c->low && pc < c->high;
}

/* nmethod.c: sets the members for nmethods, of which a frame at pc is wanted. false: the nmethod changed meanwhile. */
bool nmethod_copy(struct code_cache *c, const struct blob *b, uint64_t pc, struct code_entry *e);
/* 1: it is still in the code cache, and alive, unless it may be dead; 0: it is not; -EIO: that is unreadable. */
int nmethod_look(const struct code_cache *c, const struct code_entry *e, bool dead);

uint32_t gone_find(struct code_cache *c, uint64_t pc, bool there); /* gone.c; like hs_gone_fn */

int heaps_read(struct code_cache *c); /* code_heap.c */
int interpreter_read(struct code_cache *c);
const char *codelet_description(const struct code_cache *c, uint64_t pc); /* HotSpot's description; NULL: no codelet */
int stub_names_resolve(struct code_cache *c, const struct vmstructs *tables, hs_symbol_fn *symbol, void *ctx);
void stub_names_refresh(struct code_cache *c);

/* The blobs that a walk used; like methods_spans() and methods_check(). */
void codes_spans(const struct code_cache *c, struct mem_span *ret); /* one span for each */
bool codes_check(struct code_cache *c, const struct mem_span *spans);

/* forget.h */
void codes_forget_begin(struct code_cache *c, uint64_t used_ns);
void code_keep(struct code_cache *c, uint32_t id, uint8_t why); /* and its methods */

#endif
