#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/code/code_methods.h"

/*
 * Copies the parts of an nmethod. They are in the blob (JDK 8 to 22) or in separate malloc() blocks (23+: immutable
 * data; 25+: mutable data, with the metadata). A block may be freed and reused while it is read, so the header is read
 * again afterwards, and the copy is valid only if the header is still that of the same method.
 */
struct nm {
	struct code_cache *cache;
	const struct hs_layout *l;
	const struct blob *b;
	struct bytes header; /* in the copy */
	struct bytes blob, immutable, metadata;
	uint64_t oop_maps;
	bool dead; /* its Method*s may be dangling */
	uint8_t *memory;
};

static int64_t header_get(const struct nm *nm, struct hs_field f)
{
	return bytes_get_signed(nm->b->header, f);
}

/* The range [from, to) of `b`; empty if it is invalid. */
static struct bytes part(struct bytes b, int64_t from, int64_t to)
{
	if (from < 0 || to <= from || (uint64_t)from >= b.n)
		return (struct bytes){0};
	if ((uint64_t)to > b.n)
		to = (int64_t)b.n;
	return (struct bytes){b.p + from, (size_t)(to - from)};
}

static bool out_of_line(const struct nm *nm)
{
	return nm->l->nm_immutable.ok;
}

static struct bytes scopes_part(const struct nm *nm)
{
	const struct hs_layout *l = nm->l;
	int64_t from, to;

	if (out_of_line(nm)) {
		/* 26+: a reference count follows. */
		to = l->nm_immutable_refs.ok ? header_get(nm, l->nm_immutable_refs) : INT32_MAX;
		return part(nm->immutable, header_get(nm, l->nm_scopes_offset), to);
	}
	from = l->nm_scopes_begin.ok ? (int64_t)((uint64_t)header_get(nm, l->nm_scopes_begin) - nm->b->addr) :
				       header_get(nm, l->nm_scopes_offset);
	return part(nm->blob, from, header_get(nm, l->nm_pcs_offset));
}

static struct bytes pcs_part(const struct nm *nm)
{
	const struct hs_layout *l = nm->l;
	int64_t from = header_get(nm, l->nm_pcs_offset);

	if (!l->nm_pcs_offset.ok)
		return (struct bytes){0};
	if (out_of_line(nm))
		return part(nm->immutable, from, header_get(nm, l->nm_scopes_offset));
	return part(nm->blob, from,
		    l->nm_dependencies_offset.ok ? header_get(nm, l->nm_dependencies_offset) : INT32_MAX);
}

/*
 * Two adjacent tables: handlers, then null checks; in a separate block, in reverse order. The records follow, or the
 * end.
 */
static struct bytes table_part(const struct nm *nm, bool handlers)
{
	const struct hs_layout *l = &nm->cache->jvm->l;
	struct hs_field table = handlers ? l->nm_handlers_offset : l->nm_nulls_offset;
	struct hs_field other = handlers ? l->nm_nulls_offset : l->nm_handlers_offset;
	int64_t from = header_get(nm, table), next = header_get(nm, other), end = INT32_MAX;
	bool first = handlers != out_of_line(nm);

	if (!table.ok)
		return (struct bytes){0};
	if (out_of_line(nm))
		end = header_get(nm, l->nm_pcs_offset);
	else if (l->nm_end_offset.ok)
		end = header_get(nm, l->nm_end_offset);
	/* With equal offsets, the first table is empty. */
	if (other.ok && next < end && (next > from || (next == from && first)))
		end = next;
	return part(out_of_line(nm) ? nm->immutable : nm->blob, from, end);
}

static struct bytes metadata_part(const struct nm *nm)
{
	const struct hs_layout *l = nm->l;
	int64_t from = header_get(nm, l->nm_metadata_offset);

	if (l->blob_mutable_data.ok)
		return nm->metadata;
	if (!l->nm_metadata_offset.ok)
		return (struct bytes){0};
	if (out_of_line(nm)) /* 23, 24 */
		return part(nm->blob, header_get(nm, l->blob_data_offset) + from, INT32_MAX);
	/* The scopes follow (8 to 22). */
	return part(nm->blob, from,
		    l->nm_scopes_begin.ok ? (int64_t)((uint64_t)header_get(nm, l->nm_scopes_begin) - nm->b->addr) :
					    header_get(nm, l->nm_scopes_offset));
}

/* Plans to read the three blocks; one that is too large is left out. */
static void blocks_plan(const struct nm *nm, struct mem_span spans[3])
{
	const struct hs_layout *l = nm->l;
	int64_t immutable = header_get(nm, l->nm_immutable_size);
	int64_t relocations = header_get(nm, l->blob_relocation_size);
	int64_t metadata = header_get(nm, l->blob_mutable_size) - relocations;

	spans[0] = (struct mem_span){.addr = nm->b->addr, .len = (uint32_t)nm->b->size};
	if (nm->b->size > BLOB_COPY_MAX)
		spans[0].len = 0;
	spans[1] = (struct mem_span){.addr = bytes_get(nm->b->header, l->nm_immutable)};
	if (nm->b->kind != BLOB_NMETHOD)
		immutable = metadata = 0; /* may exist, but cannot be trusted */
	if (l->nm_immutable.ok && immutable > 0 && immutable <= BLOB_COPY_MAX)
		spans[1].len = (uint32_t)immutable;
	spans[2] = (struct mem_span){.addr = bytes_get(nm->b->header, l->blob_mutable_data) + (uint64_t)relocations};
	if (l->blob_mutable_data.ok && relocations >= 0 && metadata > 0 && metadata <= BLOB_COPY_MAX)
		spans[2].len = (uint32_t)metadata;
}

static bool blocks_read(struct nm *nm)
{
	struct mem_span spans[3];
	size_t n, at = 0;

	blocks_plan(nm, spans);
	n = (size_t)spans[0].len + spans[1].len + spans[2].len;
	if (n == 0 || n > BLOB_COPY_MAX)
		return false;
	nm->memory = malloc(n);
	if (!nm->memory)
		return false;
	for (int i = 0; i < 3; i++) {
		spans[i].dst = nm->memory + at;
		at += spans[i].len;
	}
	mem_read_batch(nm->cache->jvm->mem, spans, 3);
	for (int i = 0; i < 3; i++)
		if (spans[i].len && !spans[i].ok)
			return false;
	nm->blob = (struct bytes){spans[0].dst, spans[0].len};
	nm->immutable = (struct bytes){spans[1].dst, spans[1].len};
	nm->metadata = (struct bytes){spans[2].dst, spans[2].len};
	return true;
}

static int64_t code_offset(const struct blob *b, uint64_t addr)
{
	return addr >= b->begin && addr <= b->end ? (int64_t)(addr - b->begin) : -1;
}

/* A code offset, from a pointer into the code or an offset from the blob, whichever this JVM has. */
static int64_t code_place(const struct nm *nm, struct hs_field ptr, struct hs_field offset)
{
	int64_t v;

	if (ptr.ok)
		return code_offset(nm->b, (uint64_t)header_get(nm, ptr));
	v = offset.ok ? header_get(nm, offset) : 0;
	return v > 0 ? code_offset(nm->b, nm->b->addr + (uint64_t)v) : -1;
}

static uint32_t entry_place(const struct nm *nm, struct hs_field ptr, struct hs_field offset)
{
	int64_t v =
		ptr.ok ? code_offset(nm->b, (uint64_t)header_get(nm, ptr)) : (int64_t)bytes_get(nm->b->header, offset);

	return v >= 0 && (uint64_t)v <= nm->b->end - nm->b->begin ? (uint32_t)v : 0;
}

static void places_fill(const struct nm *nm, struct code *ret)
{
	const struct hs_layout *l = nm->l;
	const struct hs_field none = {0};

	if (ret->kind == BLOB_NMETHOD)
		ret->tier = (int8_t)bytes_get(nm->b->header, (struct hs_field){l->nm_comp_level.at, 1, true, false});
	if (ret->tier < 0 || ret->tier > TIER_C2)
		ret->tier = 0;
	ret->entry = entry_place(nm, l->nm_entry, l->nm_entry_offset);
	ret->verified_entry = entry_place(nm, l->nm_verified_entry, l->nm_verified_entry_offset);
	if (ret->osr_bci != CODE_NO_OSR)
		ret->osr_entry = code_place(nm, l->nm_osr_entry, none);
	ret->deopt_handler = code_place(nm, l->nm_deopt_ptr, l->nm_deopt_offset);
	ret->deopt_mh_handler = code_place(nm, l->nm_deopt_mh_ptr, l->nm_deopt_mh_offset);
	ret->exception_handler = code_place(nm, none, l->nm_exception);
	ret->stub_begin = code_place(nm, none, l->nm_stub);
	ret->orig_pc_offset = l->nm_orig_pc.ok ? (int32_t)header_get(nm, l->nm_orig_pc) : -1;
}

static bool keep(struct code_cache *cache, const void *src, size_t size, const void *ret_ptr)
{
	void *p = size ? arena_copy(&cache->parts, src, size) : NULL;

	memcpy((void *)(uintptr_t)ret_ptr, &p, sizeof(p));
	return size == 0 || p;
}

static void bytes_fill(const struct nm *nm, struct code *ret)
{
	struct bytes code = part(nm->blob, (int64_t)(nm->b->begin - nm->b->addr), (int64_t)(nm->b->end - nm->b->addr));

	if (code.n && code.n <= CODE_BYTES_MAX && keep(nm->cache, code.p, code.n, &ret->bytes))
		ret->n_bytes = (uint32_t)code.n;
}

static int compare_i32(const void *a, const void *b)
{
	int32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return ascending(x, y);
}

enum { OOP_MAPS_MAX = 1 << 18 };

/* JDK 8: an array of pointers to maps. */
static int32_t *oop_offsets_8(const struct nm *nm, uint64_t set, uint32_t n)
{
	const struct hs_layout *l = nm->l;
	uint64_t data, *ptrs CLEANUP(free_at_exit) = calloc(n, sizeof(*ptrs));
	struct mem_span *spans CLEANUP(free_at_exit) = calloc(n, sizeof(*spans));
	int32_t *ret CLEANUP(free_at_exit) = calloc(n, sizeof(*ret));

	if (!ptrs || !spans || !ret || !l->oopmap8_pc.ok || !jvm_get(nm->cache->jvm, set, l->oopmaps8_data, &data) ||
	    !jvm_read_fresh(nm->cache->jvm, data, ptrs, n * 8))
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		spans[i] = (struct mem_span){ptrs[i] + l->oopmap8_pc.at, &ret[i], 4, false};
	mem_read_batch(nm->cache->jvm->mem, spans, n);
	for (uint32_t i = 0; i < n; i++)
		if (!spans[i].ok)
			return NULL;
	return take_ptr(ret);
}

static int32_t *oop_offsets_9(const struct nm *nm, uint64_t set, uint32_t n)
{
	const struct hs_layout *l = nm->l;
	uint32_t size = (uint32_t)l->size.oopmap_pair;
	uint8_t *pairs CLEANUP(free_at_exit) = malloc((size_t)n * size);
	int32_t *ret CLEANUP(free_at_exit) = calloc(n, sizeof(*ret));

	if (!pairs || !ret || !l->oopmap_pair_pc.ok ||
	    !jvm_read_fresh(nm->cache->jvm, set + l->size.oopmaps, pairs, n * size))
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		ret[i] = (int32_t)bytes_get((struct bytes){pairs + i * size, size}, l->oopmap_pair_pc);
	return take_ptr(ret);
}

/* The sorted offsets of safepoints; false: unknown. The caller frees *ret, which may be NULL. */
static bool oop_offsets(const struct nm *nm, int32_t **ret, uint32_t *ret_n)
{
	const struct hs_layout *l = nm->l;
	uint64_t set = bytes_get(nm->b->header, l->blob_oop_maps), n = 0;

	*ret = NULL;
	*ret_n = 0;
	if (set == 0)
		return l->blob_oop_maps.ok;
	if (!object_ok(set) ||
	    !jvm_get(nm->cache->jvm, set, l->oopmaps_count.ok ? l->oopmaps_count : l->oopmaps8_count, &n) ||
	    n > OOP_MAPS_MAX)
		return false;
	if (n == 0)
		return true;
	*ret = l->oopmaps_count.ok ? oop_offsets_9(nm, set, (uint32_t)n) : oop_offsets_8(nm, set, (uint32_t)n);
	if (!*ret)
		return false;
	qsort(*ret, n, sizeof(**ret), compare_i32);
	*ret_n = (uint32_t)n;
	return true;
}

static bool pcdesc_at(const struct nm *nm, struct bytes pcs, size_t i, struct code_record *ret)
{
	size_t size = nm->l->size.pcdesc;
	struct bytes p = {pcs.p + i * size, size};

	ret->pc_offset = (int32_t)bytes_get(p, nm->l->pcdesc_pc);
	ret->scope_offset = (int32_t)bytes_get(p, nm->l->pcdesc_scope);
	return ret->scope_offset > 0 && ret->pc_offset >= 0 && (uint64_t)ret->pc_offset <= nm->b->end - nm->b->begin;
}

static void records_fill(const struct nm *nm, struct code *ret)
{
	struct bytes pcs = pcs_part(nm);
	size_t max = pcs.n / nm->l->size.pcdesc;
	struct code_record *r CLEANUP(free_at_exit) = calloc(max + 1, sizeof(*r));
	int32_t *oops CLEANUP(free_at_exit) = NULL;
	uint32_t n_oops, n = 0, at = 0;
	bool known;

	if (!r || max == 0)
		return;
	known = oop_offsets(nm, &oops, &n_oops);
	for (size_t i = 0; i < max; i++) {
		if (!pcdesc_at(nm, pcs, i, &r[n]) || (n && r[n].pc_offset <= r[n - 1].pc_offset))
			continue;
		while (at < n_oops && oops[at] < r[n].pc_offset)
			at++;
		r[n].safepoint = !known || (at < n_oops && oops[at] == r[n].pc_offset);
		ret->n_extra_records += !r[n].safepoint;
		n++;
	}
	if (keep(nm->cache, r, n * sizeof(*r), &ret->records))
		ret->n_records = n;
	else
		ret->n_extra_records = 0;
}

static void tables_fill(const struct nm *nm, struct code *ret)
{
	struct bytes t = table_part(nm, false);
	struct cursor c = cursor_make(t.p, t.n);
	uint32_t n = t.n ? cursor_u32(&c) : 0;
	uint32_t *h;

	/* Null checks: a u4 count, then pairs of code offsets. */
	if (n && n <= cursor_left(&c) / sizeof(struct code_pair) &&
	    keep(nm->cache, c.p, n * sizeof(struct code_pair), &ret->null_checks))
		ret->n_null_checks = n;

	/* Handlers: (count, call, 0), then `count` triples (bci, handler, depth). */
	t = table_part(nm, true);
	c = cursor_make(t.p, t.n);
	h = t.n ? arena_alloc(&nm->cache->parts, t.n / 12 * sizeof(*h) + 4) : NULL;
	ret->handlers = h;
	while (h && cursor_left(&c) >= 12) {
		uint32_t count = cursor_u32(&c);

		cursor_take(&c, 8);
		for (; count && cursor_left(&c) >= 12; count--) {
			cursor_take(&c, 4);
			h[ret->n_handlers++] = cursor_u32(&c);
			cursor_take(&c, 4);
		}
	}
}

static bool scopes_fill(const struct nm *nm, uint64_t pc, struct code_entry *e)
{
	struct bytes scopes = scopes_part(nm), metadata = metadata_part(nm);
	struct code *c = &e->code;
	uint32_t n = c->n_records && metadata.n / 8 < 1 << 20 ? (uint32_t)(metadata.n / 8) : 0;

	if (nm->dead)
		return true;
	if (c->n_records && keep(nm->cache, scopes.p, scopes.n, &c->scopes))
		c->scopes_len = (uint32_t)scopes.n;
	c->methods = n ? arena_alloc(&nm->cache->parts, n * sizeof(*c->methods)) : NULL;
	if (c->methods && keep(nm->cache, metadata.p, n * sizeof(*e->metadata), &e->metadata)) {
		memset(c->methods, 0, n * sizeof(*c->methods));
		c->n_methods = n;
	}
	return code_methods_copy(nm->cache, e, pc);
}

int nmethod_look(const struct code_cache *cache, const struct code_entry *e, bool dead)
{
	uint8_t now[64 + BLOB_SPAN_MAX];
	uint32_t skip = (uint32_t)cache->jvm->l.size.heap_block, n = cache->blob_span;
	uint64_t method;

	if (n > e->code.blob_size)
		n = (uint32_t)e->code.blob_size;
	if (!jvm_read_fresh(cache->jvm, e->code.blob - skip, now, skip + n))
		return -EIO;
	if (!dead && blob_dead(cache->jvm, (struct bytes){now + skip, n}))
		return 0;
	return blob_identity(cache->jvm, (struct bytes){now, skip + n}, true, &method) == e->identity &&
	       method == e->method;
}

bool nmethod_copy(struct code_cache *cache, const struct blob *b, uint64_t pc, struct code_entry *e)
{
	struct nm nm = {.cache = cache, .l = &cache->jvm->l, .b = b, .dead = blob_dead(cache->jvm, b->header)};
	uint32_t known = cache->methods->methods.n;
	struct code *c = &e->code;
	bool ok = true;

	places_fill(&nm, c);
	if (blocks_read(&nm)) {
		if (c->kind != BLOB_NMETHOD || !cache->codes.copies->unused_ns)
			bytes_fill(&nm, c);
		if (c->kind == BLOB_NMETHOD) {
			records_fill(&nm, c);
			tables_fill(&nm, c);
		}
	}
	ok = scopes_fill(&nm, pc, e) && nmethod_look(cache, e, nm.dead) > 0;
	if (!ok)
		methods_drop_since(cache->methods, known);
	free(nm.memory);
	return ok;
}
