#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/objects/java_objects.h"

/*
 * References of ZGC have a colour. A reference that was not loaded since its object was moved still has the old
 * address; the new one is in a forwarding table, which exists until the next cycle. (JDK gc/z/: zAddress.hpp,
 * zForwarding.hpp, zForwardingEntry.hpp, zGranuleMap.hpp; verified on 17 and 25.)
 */
enum {
	GRANULE_SHIFT = 21,
	ENTRIES_MAX = 1 << 18,
	PROBES_MAX = 4096,
	PROBES_READ = 32,
	TO_SHIFT = 1,
	TO_BITS = 45,
	FROM_SHIFT = 46,
	LIBJVM_MAX = 64 << 20,
};

/* Reads a number through a pointer in ZGC's globals. */
static bool z_read(struct jvm *jvm, struct hs_field globals, struct hs_field f, uint64_t *ret)
{
	uint64_t at, var;

	return jvm_get(jvm, 0, globals, &at) && object_ok(at) && jvm_get(jvm, at, f, &var) && addr_ok(var) &&
	       mem_read_u64(jvm->mem, var, ret);
}

/* Is an address near a variable of libjvm, and so probably in libjvm? */
static bool in_libjvm(uint64_t addr, uint64_t variable)
{
	return addr - variable < LIBJVM_MAX || variable - addr < LIBJVM_MAX;
}

/*
 * Recognises a map over the granules of the heap: their number (of those reserved; in 21 still a power of two) and the
 * array. After a generation's map there is an object with a vtable. So there is after some sizes in bytes, which are
 * round numbers, but not addresses of anything.
 */
static bool is_map(struct jvm *jvm, const uint64_t w[3], uint64_t variable)
{
	uint64_t ignored;

	return w[0] >= 64 && w[0] <= UINT64_C(1) << 24 && addr_ok(w[1]) && w[1] % 4096 == 0 &&
	       in_libjvm(w[2], variable) && mem_read_u64(jvm->mem, w[1], &ignored) &&
	       mem_read_u64(jvm->mem, w[1] + 8 * (w[0] - 1), &ignored);
}

/*
 * Finds the forwarding tables in the heap object, which has the old generation, then the young one, at offsets that are
 * not exported. Both maps have the same size, and the same vtable after them.
 */
static void maps_search(struct jvm *jvm, const uint64_t *w, size_t n, uint64_t variable)
{
	struct heap_mode *m = &jvm->heap_mode;

	for (size_t i = 0; i + 3 <= n; i++) {
		if (!is_map(jvm, &w[i], variable))
			continue;
		for (size_t k = i + 3; k + 3 <= n; k++) {
			if (w[k] != w[i] || w[k + 2] != w[i + 2] || !is_map(jvm, &w[k], variable))
				continue;
			m->z_map_old = w[i + 1];
			m->z_map_young = w[k + 1];
			return;
		}
	}
}

static void maps_find(struct jvm *jvm)
{
	const struct hs_layout *l = &jvm->l;
	struct heap_mode *m = &jvm->heap_mode;
	uint64_t *words CLEANUP(free_at_exit) = calloc(l->size.zheap / 8 + 1, 8);
	uint64_t heap, first = l->zheap_page_table.at / 8 + 2, n = l->size.zheap / 8;

	if (!words || !l->zc_heap.ok || !jvm_get(jvm, 0, l->universe_heap, &heap))
		return;
	heap += l->zc_heap.at;
	if (l->zheap_forwarding.ok) {
		m->z_maps_read = jvm_get(jvm, heap + l->zheap_forwarding.at, l->zgranules_map, &m->z_map_old);
	} else if (l->zheap_page_table.ok && first < n && jvm_read_fresh(jvm, heap, words, (uint32_t)(8 * n))) {
		m->z_maps_read = true;
		maps_search(jvm, words + first, n - first, l->universe_heap.at);
	}
}

/* ZHash::uint32_to_uint32: the search for a forwarding begins at this slot. */
static uint32_t z_hash(uint32_t k)
{
	k = (k << 15) - k - 1;
	k ^= k >> 12;
	k *= 5;
	k ^= k >> 4;
	k *= 2057;
	return k ^ k >> 16;
}

/* What the tables say about an object. */
enum forwarding {
	FORWARDING_NONE, /* its page is not being relocated */
	FORWARDING_NOT_YET, /* it is still in the old place */
	FORWARDING_MOVED,
	FORWARDING_UNKNOWN, /* not readable: the old place may hold anything */
};

static enum forwarding entry_find(struct jvm *jvm, uint64_t entries, uint64_t length, uint64_t from, uint64_t *ret)
{
	uint64_t e[PROBES_READ], at = z_hash((uint32_t)from) & (length - 1);

	for (unsigned probes = 0; probes < PROBES_MAX;) {
		uint64_t n = length - at < PROBES_READ ? length - at : PROBES_READ;

		if (!mem_read(jvm->mem, entries + 8 * at, e, 8 * n))
			return FORWARDING_UNKNOWN;
		for (uint64_t i = 0; i < n; i++) {
			if (!(e[i] & 1))
				return FORWARDING_NOT_YET;
			if (e[i] >> FROM_SHIFT == from) {
				*ret = e[i] >> TO_SHIFT & ((UINT64_C(1) << TO_BITS) - 1);
				return FORWARDING_MOVED;
			}
		}
		probes += (unsigned)n;
		at = (at + n) & (length - 1);
	}
	return FORWARDING_UNKNOWN;
}

/* Finds, in one table, the new offset of the object at `offset` of the heap. */
static enum forwarding forward_by(struct jvm *jvm, uint64_t map, uint64_t offset, uint64_t *ret)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t f, start, shift, length;

	if (!mem_read_u64(jvm->mem, map + 8 * (offset >> GRANULE_SHIFT), &f))
		return FORWARDING_UNKNOWN;
	if (!f)
		return FORWARDING_NONE;
	if (!object_ok(f) || !jvm_get(jvm, f + l->zforwarding_virtual.at, l->zvirtual_start, &start) ||
	    !jvm_get(jvm, f, l->zforwarding_shift, &shift) ||
	    !jvm_get(jvm, f + l->zforwarding_entries.at, l->zarray_length, &length))
		return FORWARDING_UNKNOWN;
	if (offset < start || shift < 3 || shift > 32 || length == 0 || length > ENTRIES_MAX ||
	    (length & (length - 1)) != 0)
		return FORWARDING_UNKNOWN;
	return entry_find(jvm, f + l->size.zforwarding, length, (offset - start) >> shift, ret);
}

/* Without generations, all objects count as old. */
static enum forwarding forward(struct jvm *jvm, bool young, uint64_t offset, uint64_t *ret)
{
	const struct heap_mode *m = &jvm->heap_mode;
	uint64_t map;

	if (!m->z_maps_read)
		maps_find(jvm);
	map = young ? m->z_map_young : m->z_map_old;
	return map ? forward_by(jvm, map, offset, ret) : FORWARDING_UNKNOWN;
}

/*
 * Without generations, a coloured pointer is an address in one of several views of the heap, and only the good view is
 * certain to be mapped. Weakly bad means: not remapped since the last relocation.
 */
static bool resolve_single(struct jvm *jvm, uint64_t raw, uint64_t *ret)
{
	const struct hs_layout *l = &jvm->l;
	bool x = l->x_globals.ok;
	struct hs_field globals = x ? l->x_globals : l->z_globals;
	uint64_t mask, good, bad, to;
	enum forwarding moved = FORWARDING_NONE;

	*ret = raw;
	if (!z_read(jvm, globals, x ? l->x_offset_mask : l->z_offset_mask, &mask) ||
	    !z_read(jvm, globals, x ? l->x_good_mask : l->z_good_mask, &good))
		return object_ok(raw);
	*ret = (raw & mask) | good;
	if (z_read(jvm, globals, l->z_weak_bad_mask, &bad) && (raw & bad) != 0)
		moved = forward(jvm, false, raw & mask, &to);
	if (moved == FORWARDING_MOVED)
		*ret = to | good;
	return moved != FORWARDING_UNKNOWN && object_ok(*ret);
}

/*
 * A reference is stale if one of its generations was relocated since it got its colour. The table of the generation
 * that does not contain the object may have an entry for an earlier page (ZBarrier::remap_generation).
 */
static enum forwarding forward_stale(struct jvm *jvm, int stale, uint64_t offset, uint64_t *ret)
{
	enum forwarding moved = stale & 1 ? forward(jvm, true, offset, ret) : FORWARDING_NONE;

	return moved == FORWARDING_NONE && (stale & 2) ? forward(jvm, false, offset, ret) : moved;
}

static bool resolve_generational(struct jvm *jvm, uint64_t raw, uint64_t *ret)
{
	uint64_t good, mask, to;
	enum forwarding moved;
	unsigned shift, ignored;
	int colour = arch_z_colour(raw, &shift), now, stale;

	if (colour < 0 || !z_read(jvm, jvm->l.z_globals, jvm->l.z_load_good_mask, &good) ||
	    !z_read(jvm, jvm->l.z_globals, jvm->l.z_offset_mask, &mask))
		return false;
	*ret = raw >> shift;
	if (!*ret)
		return false; /* null has a colour, too, and the heap's first object the same offset */
	now = arch_z_colour(good, &ignored);
	stale = now < 0 ? 0 : colour ^ now;
	if (stale == 3 && arch_z_old_to_old(raw))
		stale = 2;
	moved = forward_stale(jvm, stale, *ret & mask, &to);
	if (moved == FORWARDING_MOVED)
		*ret = (*ret & ~mask) | to;
	return moved != FORWARDING_UNKNOWN && object_ok(*ret);
}

bool z_resolve(struct jvm *jvm, uint64_t raw, uint64_t *ret)
{
	return jvm->heap_mode.z_generational ? resolve_generational(jvm, raw, ret) : resolve_single(jvm, raw, ret);
}
