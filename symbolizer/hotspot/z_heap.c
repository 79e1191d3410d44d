#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/hs_private.h"

/*
 * References of ZGC carry a colour. One that nobody loaded since its object was moved still has the old
 * place; the new one is in a forwarding table, which lives until the next cycle. (JDK gc/z/: zAddress.hpp,
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
};

/* A number behind a pointer in ZGC's globals. */
static bool z_read(struct hotspot *hs, struct hs_field globals, struct hs_field f, uint64_t *ret)
{
	uint64_t at, var;

	return hs_get(hs, 0, globals, &at) && object_ok(at) && hs_get(hs, at, f, &var) &&
		addr_ok(var) && mem_read_u64(hs->mem, var, ret);
}

/*
 * The forwarding tables hang on the heap object in places that 21 and later do not export. A table is a
 * map over the granules of the heap: a size, the same for all of them, and a pointer. The page table's is
 * known, so the others are found by its size.
 */
static void maps_find(struct hotspot *hs)
{
	const struct hs_layout *l = &hs->l;
	struct heap_mode *m = &hs->heap_mode;
	uint8_t *heap CLEANUP(free_at_exit) = malloc(l->size.zheap);
	uint64_t at, pages, size, words[2];

	m->z_maps_read = true;
	if (!heap || !l->zheap_page_table.ok || !l->zgranules_map.ok || !l->zc_heap.ok ||
		l->zgranules_map.at != 8 || !hs_get(hs, 0, l->universe_heap, &at) ||
		!object_ok(at + l->zc_heap.at) ||
		!hs_read_fresh(hs, at + l->zc_heap.at, heap, (uint32_t)l->size.zheap))
		return;
	pages = l->zheap_page_table.at + l->zpage_table_map.at;
	if (pages + 16 > l->size.zheap)
		return;
	memcpy(&size, heap + pages, 8);
	for (uint64_t i = 0; size > 1 && i + 16 <= l->size.zheap && m->n_z_maps < 4; i += 8) {
		memcpy(words, heap + i, 16);
		if (i != pages && words[0] == size && object_ok(words[1]))
			m->z_maps[m->n_z_maps++] = words[1];
	}
}

/* ZHash::uint32_to_uint32, where the search of a forwarding begins. */
static uint32_t z_hash(uint32_t k)
{
	k = (k << 15) - k - 1;
	k ^= k >> 12;
	k *= 5;
	k ^= k >> 4;
	k *= 2057;
	return k ^ k >> 16;
}

static bool entry_find(struct hotspot *hs, uint64_t entries, uint64_t length, uint64_t from,
		       uint64_t *ret)
{
	uint64_t e[PROBES_READ], at = z_hash((uint32_t)from) & (length - 1);

	for (unsigned probes = 0; probes < PROBES_MAX;) {
		uint64_t n = length - at < PROBES_READ ? length - at : PROBES_READ;

		if (!mem_read(hs->mem, entries + 8 * at, e, 8 * n))
			return false;
		for (uint64_t i = 0; i < n; i++) {
			if (!(e[i] & 1))
				return false;
			if (e[i] >> FROM_SHIFT == from) {
				*ret = e[i] >> TO_SHIFT & ((UINT64_C(1) << TO_BITS) - 1);
				return true;
			}
		}
		probes += (unsigned)n;
		at = (at + n) & (length - 1);
	}
	return false;
}

/* Where the object at `offset` of the heap went, by one table. */
static bool forward_by(struct hotspot *hs, uint64_t map, uint64_t offset, uint64_t *ret)
{
	const struct hs_layout *l = &hs->l;
	uint64_t f, start, shift, length;

	if (!mem_read_u64(hs->mem, map + 8 * (offset >> GRANULE_SHIFT), &f) || !object_ok(f) ||
		!hs_get(hs, f + l->zforwarding_virtual.at, l->zvirtual_start, &start) ||
		!hs_get(hs, f, l->zforwarding_shift, &shift) ||
		!hs_get(hs, f + l->zforwarding_entries.at, l->zarray_length, &length))
		return false;
	if (offset < start || shift < 3 || shift > 32 || length == 0 || length > ENTRIES_MAX ||
		(length & (length - 1)) != 0)
		return false;
	return entry_find(hs, f + l->size.zforwarding, length, (offset - start) >> shift, ret);
}

static bool forward(struct hotspot *hs, uint64_t offset, uint64_t *ret)
{
	const struct heap_mode *m = &hs->heap_mode;

	if (!m->z_maps_read)
		maps_find(hs);
	for (size_t i = 0; i < m->n_z_maps; i++)
		if (forward_by(hs, m->z_maps[i], offset, ret))
			return true;
	return false;
}

static bool is_stale(struct hotspot *hs, uint64_t raw)
{
	uint64_t bad;

	return z_read(hs, hs->l.z_globals, hs->l.z_bad_mask, &bad) && (raw & bad) != 0;
}

/*
 * Before generations a coloured pointer is an address in one of several views of the heap, of which
 * only the good one is sure to be mapped.
 */
static bool resolve_single(struct hotspot *hs, uint64_t raw, uint64_t *ret)
{
	const struct hs_layout *l = &hs->l;
	bool x = l->x_globals.ok;
	uint64_t mask, good, to;

	*ret = raw;
	if (!z_read(hs, x ? l->x_globals : l->z_globals, x ? l->x_offset_mask : l->z_offset_mask,
			&mask) ||
		!z_read(hs, x ? l->x_globals : l->z_globals, x ? l->x_good_mask : l->z_good_mask, &good))
		return object_ok(raw);
	*ret = (raw & mask) | good;
	if (!x && is_stale(hs, raw) && forward(hs, raw & mask, &to))
		*ret = to | good;
	return object_ok(*ret);
}

static bool resolve_generational(struct hotspot *hs, uint64_t raw, uint64_t *ret)
{
	uint64_t shift, mask, to;

	/* Only what was loaded since has the shift of the collector's present phase. */
	if (!z_read(hs, hs->l.z_globals, hs->l.z_load_shift, &shift) ||
		!z_read(hs, hs->l.z_globals, hs->l.z_offset_mask, &mask))
		return false;
	shift = arch_z_shift(raw, shift);
	*ret = shift < 64 ? raw >> shift : 0;
	if (is_stale(hs, raw) && forward(hs, *ret & mask, &to))
		*ret = (*ret & ~mask) | to;
	return object_ok(*ret);
}

bool z_resolve(struct hotspot *hs, uint64_t raw, uint64_t *ret)
{
	return hs->heap_mode.z_generational ? resolve_generational(hs, raw, ret) :
					      resolve_single(hs, raw, ret);
}
