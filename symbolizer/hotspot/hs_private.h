#ifndef JS_HOTSPOT_HS_PRIVATE_H
#define JS_HOTSPOT_HS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/hs_arch.h"
#include "symbolizer/hotspot/hs_layout.h"
#include "symbolizer/hotspot/hs_thread.h"
#include "symbolizer/hotspot/method.h"
#include "symbolizer/hotspot/u64map.h"
#include "symbolizer/target/mem.h"

/* What the files of this folder share. Nobody else includes it. */

enum {
	HEAPS_MAX = 16,
	PC_CACHE = 8192, /* power of two */
	BLOB_SPAN_MAX = 1024, /* header bytes read of a blob */
	BLOB_COPY_MAX = 4 << 20, /* of one code, all parts */
	CODE_BYTES_MAX = 512 << 10,
	METHOD_BYTES_MAX = 64 << 10, /* bytecodes; line table */
	SCOPE_METHODS_MAX = 8192, /* different methods in one nmethod */
};

/* Bytes of the target, of which fields are asked. A field beyond the end reads as 0. */
struct bytes {
	const uint8_t *p;
	size_t n;
};

static inline uint64_t bytes_get(struct bytes b, struct hs_field f)
{
	uint64_t v = 0;

	if (f.ok && f.width <= 8 && f.at <= b.n && b.n - f.at >= f.width)
		memcpy(&v, b.p + f.at, f.width);
	return v;
}

static inline int64_t sign_extend(uint64_t v, unsigned width)
{
	unsigned shift = 64 - 8 * width;

	return width == 0 || width >= 8 ? (int64_t)v : (int64_t)(v << shift) >> shift;
}

static inline int64_t bytes_get_signed(struct bytes b, struct hs_field f)
{
	return sign_extend(bytes_get(b, f), f.width);
}

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

/* A code that stands in the code cache now. */
struct live_code {
	uint64_t start, end; /* the blob */
	uint32_t id;
};

struct pc_slot {
	uint64_t pc;
	uint32_t id, generation;
};

struct code_entry {
	struct code code; /* must stay first */
	uint64_t identity; /* of the blob's header, blob_identity() */
	uint64_t method; /* Method* */
	uint64_t read_ns; /* clock_monotonic_ns() */
	uint64_t checked_ns; /* last found the same; 0: never */
	size_t bytes; /* of the entry and all it points to, one block; forget.c */
	uint8_t keep;
};

struct method_entry {
	struct hs_method method; /* must stay first */
	uint64_t identity; /* of the ConstMethod's header */
	/* Its class by name: a class loader that follows an unloaded one can get the same addresses. */
	uint64_t holder, class_symbol; /* InstanceKlass*, its Symbol* */
	uint64_t tail_addr, tail_hash; /* the end of the symbol's text */
	uint8_t tail_len; /* 0: not known */
	uint64_t checked_ns; /* as in code_entry */
	uint64_t unloads; /* classes unloaded when it was last read */
	uint64_t added_ns; /* clock_monotonic_ns() */
	size_t bytes; /* as in code_entry */
	uint8_t keep;
};

enum { CLASS_TAIL_MAX = 24 };

struct stub_name {
	uint64_t addr;
	const char *name;
	uint32_t order;
};

struct stub_var {
	uint64_t addr; /* of the variable */
	const char *name;
};

/* Field offsets in the Java heap, worked out when the first name is read. */
struct java_offsets {
	bool known, tried;
	int32_t thread_name, thread_eetop;
	int32_t string_value, string_coder; /* coder -1: JDK 8, char[] */
	uint64_t string_klass;
	bool status_known;
	/* threadStatus; from JDK 19 on in the object that `holder` refers to. -1: not there. */
	int32_t thread_holder, status;
};

/* Fields on the way from a Continuation to its virtual thread, worked out with the first one. */
struct virtual_offsets {
	bool known;
	uint64_t cont_klass, run_klass, klass; /* VThreadContinuation, what it runs, VirtualThread */
	int32_t target, thread, cont, id;
};

struct heap_mode {
	bool known;
	bool narrow_oops, narrow_klasses, compact_headers, z, z_generational;
	uint64_t oops_base, klasses_base;
	unsigned oops_shift, klasses_shift;
	bool z_maps_read;
	uint64_t z_map_old, z_map_young; /* of forwardings; one generation: old. 0: none */
};

/* A number in the JVM that goes up; jvm_count.c. */
struct jvm_count {
	uint64_t counter; /* its address; 0: not found */
	uint64_t count;
	uint64_t since_ns; /* it was read first at that time, or before; 0: it never changed */
};

/* Classes that the JVM has unloaded; unloads.c. */
struct unloads {
	struct jvm_count seen;
	uint64_t tried_ns;
	uint32_t tries;
	uint64_t lasting[4]; /* ClassLoaderData of loaders that live as long as the JVM */
	size_t n_lasting;
};

/* Classes that are redefined; redefinitions.c. */
struct redefinitions {
	struct jvm_count seen;
	struct u64map classes; /* InstanceKlass* of which a method changed in place */
};

enum { STAMP_PERMANENT = 1u << 31 };

struct hotspot {
	struct mem *mem;
	struct hs_layout l;
	struct hs_version version;
	uint64_t seed;
	struct arena arena; /* stub names, notes */
	struct arena code_parts, method_parts; /* while a code or a method is read */
	struct strtab *names; /* of blobs */
	size_t copies; /* bytes of codes and methods */
	struct budget *budget; /* borrowed; NULL: none */
	uint64_t taken; /* bytes out of it */
	bool said_full;
	size_t forget_at; /* of them; forget.c */
	uint64_t kept;
	VEC(const char *) notes; /* NULL-terminated */
	struct hotspot_stats stats;

	/* code cache */
	struct code_heap heap[HEAPS_MAX];
	size_t n_heaps;
	uint64_t low, high; /* reserved, all heaps */
	uint32_t blob_span; /* header bytes wanted of a blob, up to BLOB_SPAN_MAX */
	VEC(struct code_entry *) codes; /* id - 1; NULL: forgotten */
	VEC(uint32_t) code_stamps; /* walk that noted it, or STAMP_PERMANENT */
	VEC(struct live_code) live; /* sorted by start, disjoint */
	struct u64map code_ids; /* hash of (blob, identity) -> id */
	struct pc_slot *pcs;
	uint32_t pc_generation;
	hs_gone_fn *gone; /* NULL: none */
	void *gone_ctx;

	/* interpreter and stubs */
	uint64_t interp_start, interp_end;
	struct codelet *codelets; /* sorted */
	size_t n_codelets;
	VEC(struct stub_var) stub_vars;
	struct stub_name *stubs; /* sorted */
	size_t n_stubs;
	uint64_t call_stub_return;
	uint64_t cont_barrier_var, cont_barrier, cont_return_var, cont_return;
	int64_t cont_entry_offset; /* in JavaThread, -1: unknown */
	struct hs_interp_layout interp;

	/* methods */
	VEC(struct method_entry *) methods; /* id - 1; NULL: forgotten */
	VEC(uint32_t) method_stamps;
	struct u64map method_ids; /* Method* -> id */
	struct unloads unloads;
	struct redefinitions redefinitions;
	uint64_t vm_threads; /* NonJavaThread::_the_list; 0: unknown */
	uint64_t vm_threads_from_ns, vm_threads_cost_ns; /* first search; what all of them took */
	hs_gone_method_fn *gone_method; /* NULL: none */
	void *gone_method_ctx;

	/* walk */
	bool walking;
	uint32_t walk;
	uint64_t sample_ns, now_ns; /* hotspot_walk_times() */
	VEC(uint32_t) used_codes;
	VEC(uint32_t) used_methods;
	VEC(struct mem_span) spans;
	VEC(uint8_t) span_bytes;

	/* threads */
	VEC(struct hs_thread) threads;
	VEC(uint64_t) thread_os; /* OSThread* of each */
	struct u64map thread_ids; /* tid -> index + 1 */
	uint64_t list_addr, list_ns; /* ThreadsList* and time of the last reading */
	uint64_t list_cost_ns; /* how long it took */
	bool list_incomplete;
	struct heap_mode heap_mode;
	struct java_offsets java;
	struct virtual_offsets virtual_threads;

	/* flags */
	struct arena flag_arena;
	struct vm_flag *flags;
	size_t n_flags;
};

static inline bool addr_ok(uint64_t a)
{
	return a >= 4096 && a < UINT64_C(1) << 57;
}

/* An address of an object: 8-aligned. */
static inline bool object_ok(uint64_t a)
{
	return addr_ok(a) && a % 8 == 0;
}

/* A field of the object at `base`, zero-extended; of a static with base 0. */
bool hs_get(struct hotspot *hs, uint64_t base, struct hs_field f, uint64_t *ret);

/* A read that no page cache answers. */
bool hs_read_fresh(struct hotspot *hs, uint64_t addr, void *dst, uint32_t len);

/* The bound on what a hostile target can make this hold was reached: nothing more is interned. */
bool memory_full(struct hotspot *hs); /* said the first time */

/*
 * The same JVM over another view of its memory, for reading objects and classes only: it knows the layout, and no
 * code, method or thread. hotspot_close() frees it. `mem` is borrowed. NULL: out of memory.
 */
struct hotspot *hotspot_of_heap(struct hotspot *hs, struct mem *mem);

void hs_note(struct hotspot *hs, const char *text);
bool hs_flag_true(struct hotspot *hs, const char *name); /* false, too, if there is no such flag */

/* code_heap.c */
int heaps_read(struct hotspot *hs);
struct block {
	const struct code_heap *heap;
	uint64_t header, size; /* HeapBlock*, bytes with the header */
	uint64_t raw; /* length and used as read, part of the identity */
};
bool block_find(struct hotspot *hs, uint64_t pc, struct block *ret);

/* blob.c: a blob's header, decoded and plausible. */
struct blob {
	uint64_t addr, size, begin, end;
	uint64_t name_addr, identity;
	int32_t frame_size, frame_complete;
	enum blob_kind kind;
	char name[256];
	/* nmethods */
	uint64_t method;
	int32_t compile_id, entry_bci;
	/* as read: from the HeapBlock on; header: from the blob on */
	struct bytes header;
	uint32_t n_raw;
	uint8_t raw[64 + BLOB_SPAN_MAX];
};
bool blob_read(struct hotspot *hs, const struct block *block, struct blob *ret);
bool blob_freeable(enum blob_kind kind);
enum stub_role stub_role_of(enum blob_kind kind, const char *name); /* of a blob that is no nmethod */
/* Identity of the blob from bytes that start at its HeapBlock; 0: free, or no blob at all. */
uint64_t blob_identity(const struct hotspot *hs, struct bytes from_block, bool nmethod,
		       uint64_t *ret_method);
uint32_t blob_identity_span(const struct hotspot *hs, bool nmethod); /* bytes that it wants */
uint32_t blob_span_wanted(const struct hs_layout *l);

/* nmethod.c: fills what an nmethod has beyond a blob. false: changed under the reader. */
bool nmethod_copy(struct hotspot *hs, const struct blob *b, struct code *ret);

/* forget.c: an entry with all that it points to in one block, which free() frees. */
struct code_entry *code_entry_new(struct hotspot *hs, const struct code_entry *e); /* NULL: out of memory */
struct method_entry *method_entry_new(struct hotspot *hs, const struct method_entry *e);
void entries_done(struct hotspot *hs);

/* code.c */
uint64_t code_key(uint64_t blob, uint64_t identity);
/* Copies it, gives it an id. 0: out of memory. */
uint32_t code_entry_add(struct hotspot *hs, struct code_entry *e, uint32_t stamp);
void code_drop(struct hotspot *hs, uint32_t id);
uint32_t gone_find(struct hotspot *hs, uint64_t pc, bool there); /* gone.c */
const struct code *code_peek(const struct hotspot *hs, uint64_t pc); /* cached only, not noted */

uint32_t method_entry_add(struct hotspot *hs, struct method_entry *e, uint32_t stamp); /* as code_entry_add() */
/* method.c: ids of many methods in a few batches; 0 for what is no method. */
bool blob_dead(const struct hotspot *hs, struct bytes header); /* an nmethod's header */
int methods_intern(struct hotspot *hs, const uint64_t *addrs, size_t n, uint32_t *ret);
/* Was it found the same at or after the time of this walk's sample? */
static inline bool walk_checked(const struct hotspot *hs, uint64_t checked_ns)
{
	return hs->sample_ns && checked_ns >= hs->sample_ns;
}

void method_drop(struct hotspot *hs, uint32_t id);
/* gone.c: the method that was at the address at the sample's time; `fresh`: read there now, NULL: nothing. */
uint32_t gone_method_find(struct hotspot *hs, uint64_t method, const struct hs_method *fresh);
/* jvm_count.c */
bool jvm_count_find(struct hotspot *hs, uint64_t address, struct jvm_count *ret); /* false: not to be read */
void jvm_count_poll(struct hotspot *hs, struct jvm_count *c);
bool jvm_count_moved(struct hotspot *hs, struct jvm_count *c); /* since the sample of the present walk */

/* unloads.c */
void unloads_poll(struct hotspot *hs);
bool unloads_since_sample(struct hotspot *hs); /* of the present walk; false, too, when it cannot be known */
bool unloads_spare(struct hotspot *hs, uint64_t klass); /* its loader lives as long as the JVM */

/* redefinitions.c */
void redefinitions_find(struct hotspot *hs, hs_symbol_fn *symbol, void *ctx);
void redefinitions_poll(struct hotspot *hs);
bool redefined_since_sample(struct hotspot *hs); /* as unloads_since_sample() */
void redefined_note(struct hotspot *hs, uint32_t id); /* at this method's address is another one now */
bool redefined_doubt(struct hotspot *hs, uint32_t id); /* may this method have come there since the sample? */

/* vm_threads.c */
void vm_threads_find(struct hotspot *hs, hs_symbol_fn *symbol, void *ctx);

/* Does the class still have its name? Spans: the Symbol* in the class, and the end of its text. */
bool method_class_same(const struct method_entry *e, const struct mem_span *name,
	const struct mem_span *tail);
uint32_t method_identity_span(const struct hotspot *hs);
uint64_t method_identity(const struct hotspot *hs, struct bytes const_method);

/* interpreter.c, stub_names.c, hs_arch_x86_64.c */
int interpreter_read(struct hotspot *hs);
const char *codelet_description(const struct hotspot *hs, uint64_t pc); /* as HotSpot has it; NULL: no codelet */
struct vmstructs;
int stub_names_resolve(struct hotspot *hs, const struct vmstructs *tables, hs_symbol_fn *symbol,
		       void *ctx);
void stub_names_refresh(struct hotspot *hs);
void arch_layout_init(struct hotspot *hs);
/* Generational ZGC: which of the four colours that matter to a load. -1: none. Bit 0 flips with each
 * relocation of the young generation, bit 1 of the old one. The address stands above *ret_shift bits. */
int arch_z_colour(uint64_t raw, unsigned *ret_shift);
bool arch_z_old_to_old(uint64_t raw); /* the object is in the old generation for certain */
int64_t arch_cont_entry_offset(struct hotspot *hs); /* -1: unknown */

/* thread_name.c: the java.lang.Thread, not yet proved to be the right one. */
bool thread_oop(struct hotspot *hs, const struct hs_thread *t, uint64_t *ret);
/* Name of any java.lang.Thread, which the caller is sure of. false: unreadable. */
bool thread_oop_name(struct hotspot *hs, uint64_t thread, char *buf, size_t size);
/* java_heap.c */
bool heap_mode_read(struct hotspot *hs);
bool oop_load(struct hotspot *hs, uint64_t addr, uint64_t *ret); /* oop field at addr -> address */
bool oop_from_slot(struct hotspot *hs, uint64_t slot, uint64_t *ret); /* full-width slot */
/* z_heap.c: address of the object that a reference of ZGC means. */
bool z_resolve(struct hotspot *hs, uint64_t raw, uint64_t *ret);
uint64_t oop_klass(struct hotspot *hs, uint64_t oop); /* 0: unknown */
/* klass_fields.c: offset of an instance field, -1: none. */
int32_t klass_field_offset(struct hotspot *hs, uint64_t klass, const char *name, const char *sig);
bool klass_name_is(struct hotspot *hs, uint64_t klass, const char *name);
uint64_t klass_find_super(struct hotspot *hs, uint64_t klass, const char *name); /* itself too */

/* utf8.c. Bytes written without NUL (always NUL-terminated), -1: no such text. dst holds 3 n / 2 + 1. */
long utf8_from_modified(char *dst, size_t size, const uint8_t *src, size_t n);
size_t utf8_from_utf16(char *dst, size_t size, const uint8_t *src, size_t units);
size_t utf8_from_latin1(char *dst, size_t size, const uint8_t *src, size_t n);

/* symbols.c: the text of a Symbol; decode: as far as it is among the bytes. */
bool symbol_decode(const struct hotspot *hs, struct bytes s, struct bytes *ret, size_t *ret_len);
bool symbol_read(struct hotspot *hs, uint64_t symbol, uint8_t *buf, size_t size, size_t *ret_len);

#endif
