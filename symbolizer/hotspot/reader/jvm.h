#ifndef JS_HOTSPOT_JVM_H
#define JS_HOTSPOT_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/reader/hs_arch.h"
#include "symbolizer/hotspot/reader/hs_layout.h"
#include "symbolizer/hotspot/reader/jvm_facts.h"
#include "symbolizer/target/mem.h"

/*
 * The reader: a JVM's memory, and the facts needed to read it: the layout of objects, the version and the flags. It
 * knows nothing about code, methods or threads.
 */
struct err;
struct vm_flag;
struct vmstructs;

/* A copy of bytes of the target. A field beyond its end reads as 0. */
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

/* How the Java heap refers to objects and classes; heap_mode.c. */
struct heap_mode {
	bool known;
	bool narrow_oops, narrow_klasses, compact_headers, z, z_generational;
	uint64_t oops_base, klasses_base;
	unsigned oops_shift, klasses_shift;
	bool z_maps_read;
	uint64_t z_map_old, z_map_young; /* maps of forwarding tables; old, too, if there are no generations. 0: none */
};

/* The current walk and its sample. Only walk.c sets it. */
struct moment {
	bool walking;
	uint32_t walk; /* its number: never 0, and below STAMP_PERMANENT */
	uint64_t sample_ns, now_ns; /* hotspot_walk_times() */
};

/* Used instead of a walk's number in the stamp of an entry that never changes. */
enum { STAMP_PERMANENT = 1u << 31 };

struct jvm {
	struct mem *mem;
	struct hs_layout l;
	struct hs_version version;
	struct hs_interp_layout interp;
	struct heap_mode heap_mode;
	struct moment moment;

	struct arena arena; /* for notes and other texts that are never freed */
	VEC(const char *) notes; /* ends with NULL; empty at first */
	struct arena flag_arena;
	struct vm_flag *flags;
	size_t n_flags;
};

/* *jvm must be zero-initialised. `mem` is borrowed and must outlive it. */
void jvm_init(struct jvm *jvm, struct mem *mem);
void jvm_done(struct jvm *jvm);

/* Reads layout and version from the JVM's tables. Errors as from hotspot_open(). */
int jvm_read(struct jvm *jvm, const struct vmstructs *tables, struct err *err);

/* Makes `own` the same JVM with another view of its memory, for another thread. The caller must call jvm_done(). */
void jvm_view(struct jvm *own, struct jvm *jvm, struct mem *mem);

static inline bool addr_ok(uint64_t a)
{
	return a >= 4096 && a < UINT64_C(1) << 57;
}

/* Can this be an object's address: 8-aligned? */
static inline bool object_ok(uint64_t a)
{
	return addr_ok(a) && a % 8 == 0;
}

/* Reads a field of the object at `base`, zero-extended; for a static field, base is 0. */
bool jvm_get(struct jvm *jvm, uint64_t base, struct hs_field f, uint64_t *ret);
bool jvm_read_fresh(struct jvm *jvm, uint64_t addr, void *dst, uint32_t len); /* bypasses the page cache */

void jvm_note(struct jvm *jvm, const char *text); /* hotspot_notes() */
int jvm_flag(struct jvm *jvm, const char *name, uint64_t *ret, int *ret_origin); /* like hotspot_flag() */
bool jvm_flag_true(struct jvm *jvm, const char *name); /* false, too, if there is no such flag */
bool jvm_property(struct jvm *jvm, const char *key, char *dst, size_t size); /* like hotspot_property() */
bool jvm_command(struct jvm *jvm, char *dst, size_t size); /* like hotspot_command() */
bool heap_mode_read(struct jvm *jvm);

/* The text of a Symbol. symbol_decode() returns the part of it that is in `s`. */
bool symbol_decode(const struct jvm *jvm, struct bytes s, struct bytes *ret, size_t *ret_len);
bool symbol_read(struct jvm *jvm, uint64_t symbol, uint8_t *buf, size_t size, size_t *ret_len);

/* Was an entry found unchanged at or after the time of this walk's sample? */
static inline bool moment_checked(const struct moment *m, uint64_t checked_ns)
{
	return m->sample_ns && checked_ns >= m->sample_ns;
}

/* hs_arch_x86_64.c */
void arch_layout_init(struct jvm *jvm);
/*
 * Generational ZGC: which of the four colours that matter to a load the reference has; -1: none. Bit 0 flips with each
 * relocation of the young generation, bit 1 of the old one. The address starts at bit *ret_shift.
 */
int arch_z_colour(uint64_t raw, unsigned *ret_shift);
bool arch_z_old_to_old(uint64_t raw); /* is the object certainly in the old generation? */
/* The offset of JavaThread::_cont_entry, decoded from the return barrier at `barrier`. -1: unknown. */
int64_t arch_cont_entry_offset(struct jvm *jvm, uint64_t barrier);

#endif
