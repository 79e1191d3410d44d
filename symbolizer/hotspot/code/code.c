#include <stdlib.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/code/code_methods.h"
#include "symbolizer/hotspot/code/roles.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

#define REUSE_NS UINT64_C(100000000)

/* The index of the first live code that ends above addr. */
static size_t live_index(const struct code_cache *cache, uint64_t addr)
{
	return first_above(cache->live.v, cache->live.n, end, addr);
}

static const struct live_code *live_find(const struct code_cache *cache, uint64_t pc)
{
	size_t i = live_index(cache, pc);

	return i < cache->live.n && cache->live.v[i].start <= pc ? &cache->live.v[i] : NULL;
}

/* Also drops the live code blobs that overlap this one. */
static bool live_insert(struct code_cache *cache, struct live_code c)
{
	size_t i = live_index(cache, c.start), n = i;

	while (n < cache->live.n && cache->live.v[n].start < c.end)
		n++;
	if (n > i) {
		memmove(&cache->live.v[i], &cache->live.v[n], (cache->live.n - n) * sizeof(c));
		cache->live.n -= n - i;
		cache->pc_generation++;
	}
	if (!vec_push(&cache->live, c))
		return false;
	memmove(&cache->live.v[i + 1], &cache->live.v[i], (cache->live.n - 1 - i) * sizeof(c));
	cache->live.v[i] = c;
	return true;
}

void code_drop(struct code_cache *cache, uint32_t id)
{
	const struct code *c = code_get(cache, id);
	size_t i = live_index(cache, c->blob);

	if (i >= cache->live.n || cache->live.v[i].id != id)
		return;
	memmove(&cache->live.v[i], &cache->live.v[i + 1], (cache->live.n - 1 - i) * sizeof(*cache->live.v));
	cache->live.n--;
	cache->pc_generation++;
}

static uint64_t code_key(uint64_t blob, uint64_t identity)
{
	uint64_t k = hash_mix(blob, identity);

	return k ? k : 1;
}

/* Was this blob dropped only because its identity seemed to change? If so, returns its id. */
static uint32_t code_known(const struct code_cache *cache, const struct blob *b)
{
	uint32_t id = u64map_get(&cache->codes.ids, code_key(b->addr, b->identity));
	const struct code_entry *e = code_entry(cache, id);

	return e && e->code.blob == b->addr && e->identity == b->identity &&
			       (b->method == 0 || e->method == b->method) ?
		       id :
		       0;
}

/* Does this code stay unchanged while the JVM runs? (Stubs are added to vtable chunks.) */
static bool bytes_constant(enum blob_kind kind)
{
	return kind != BLOB_VTABLE && kind != BLOB_BUFFER && kind > BLOB_MH_INTRINSIC;
}

static void stub_bytes_copy(struct code_cache *cache, struct code *c)
{
	uint64_t n = c->end - c->begin;
	uint8_t *p;

	if (n == 0 || n > CODE_BYTES_MAX || !bytes_constant(c->kind))
		return;
	p = arena_alloc(&cache->parts, n);
	if (!p || !jvm_read_fresh(cache->jvm, c->begin, p, (uint32_t)n))
		return;
	c->bytes = p;
	c->n_bytes = (uint32_t)n;
}

struct code code_of_blob(struct code_cache *cache, const struct blob *b)
{
	uint32_t name = strtab_add_z(cache->codes.copies->names, b->name);

	return (struct code){
		.kind = b->kind,
		.role = stub_role_of(b->kind, b->name),
		.blob = b->addr,
		.blob_size = b->size,
		.begin = b->begin,
		.end = b->end,
		.frame_size = b->frame_size,
		.frame_complete = b->frame_complete,
		.name = name == UINT32_MAX ? "" : strtab_get(cache->codes.copies->names, name),
		.compile_id = b->compile_id,
		.osr_bci = b->entry_bci,
		.osr_entry = -1,
		.orig_pc_offset = -1,
		.deopt_handler = -1,
		.deopt_mh_handler = -1,
		.exception_handler = -1,
		.stub_begin = -1,
	};
}

static bool code_fill(struct code_cache *cache, const struct blob *b, uint64_t pc, struct code_entry *e)
{
	struct code *c = &e->code;

	*c = code_of_blob(cache, b);
	if (b->kind <= BLOB_MH_INTRINSIC) {
		if (!nmethod_copy(cache, b, pc, e))
			return false;
		if (c->kind == BLOB_NATIVE)
			c->role = stub_role_of_native(method_get(cache->methods, c->method_id));
		return true;
	}
	stub_bytes_copy(cache, c);
	if (b->kind == BLOB_STUBS)
		stub_names_refresh(cache);
	return true;
}

enum { CODE_PARTS = 7 };

static void parts_of(const struct code_entry *e, struct copy_part ret[CODE_PARTS])
{
	const struct code *c = &e->code;
	const struct copy_part parts[CODE_PARTS] = {
		{offsetof(struct code_entry, code.records), c->n_records * sizeof(*c->records)},
		{offsetof(struct code_entry, code.scopes), c->scopes_len},
		{offsetof(struct code_entry, code.methods), c->n_methods * sizeof(*c->methods)},
		{offsetof(struct code_entry, metadata), e->metadata ? c->n_methods * sizeof(*e->metadata) : 0},
		{offsetof(struct code_entry, code.bytes), c->n_bytes},
		{offsetof(struct code_entry, code.null_checks), c->n_null_checks * sizeof(*c->null_checks)},
		{offsetof(struct code_entry, code.handlers), c->n_handlers * sizeof(*c->handlers)},
	};

	memcpy(ret, parts, sizeof(parts));
}

uint32_t code_entry_add(struct code_cache *cache, struct code_entry *e, uint32_t stamp)
{
	struct copy_part parts[CODE_PARTS];

	parts_of(e, parts);
	e->code.id = cache->codes.n + 1;
	e->head.stamp = stamp;
	return interned_add(&cache->codes, &e->head, sizeof(*e), parts, CODE_PARTS);
}

static uint32_t code_add(struct code_cache *cache, const struct blob *b, uint64_t pc)
{
	struct code_entry e = {
		.head.key = code_key(b->addr, b->identity),
		.identity = b->identity,
		.method = b->method,
	};
	uint32_t id;

	if (copies_full(cache->codes.copies))
		return 0;
	if (code_fill(cache, b, pc, &e)) {
		e.read_ns = clock_monotonic_ns();
		if (b->kind <= BLOB_MH_INTRINSIC) /* nmethod_copy() has read its identity twice */
			e.head.checked_ns = cache->jvm->moment.now_ns;
		id = code_entry_add(cache, &e, blob_freeable(b->kind) ? 0 : STAMP_PERMANENT);
	} else {
		id = 0;
	}
	arena_done(&cache->parts);
	if (!id)
		return 0;
	u64map_put(&cache->codes.ids, e.head.key, id);
	return id;
}

/* *ret_bad: something is invalid, or changed while it was read. */
static uint32_t code_intern(struct code_cache *cache, uint64_t pc, bool *ret_bad)
{
	struct block block;
	struct blob b;
	bool added = false;
	uint32_t id;

	*ret_bad = false;
	if (!block_find(cache, pc, &block))
		return 0;
	*ret_bad = !blob_read(cache, &block, &b);
	if (*ret_bad || pc < b.begin || pc >= b.end)
		return 0;
	id = code_known(cache, &b);
	if (!id) {
		id = code_add(cache, &b, pc);
		added = true;
	}
	*ret_bad = !id;
	if (!id || !live_insert(cache, (struct live_code){b.addr, b.addr + b.size, id}))
		return 0;
	if (added && b.kind == BLOB_NMETHOD)
		roles_note(cache, code_get(cache, id));
	return id;
}

static uint32_t code_find_slow(struct code_cache *cache, uint64_t pc)
{
	const struct live_code *live = live_find(cache, pc);
	const struct code *c = live ? code_get(cache, live->id) : NULL;
	uint32_t id = 0;
	bool bad = true;

	if (c && pc >= c->begin && pc < c->end) {
		struct block block;

		/* Recorded, so that this pc alone suffices to find it in a replay. */
		if (cache->jvm->mem->exact)
			block_find(cache, pc, &block);
		return c->id;
	}
	/* The pc is in the blob's header or data, unless a smaller blob has replaced it. */
	if (c && code_entry(cache, c->id)->head.stamp == STAMP_PERMANENT)
		return 0;
	/* The code cache may have changed during the read, so try again once. */
	for (int try = 0; bad && try < 2; try++) {
		cache->remote_lookups++;
		id = code_intern(cache, pc, &bad);
	}
	cache->bad += bad;
	return id;
}

/* An nmethod first read after the sample: another one may have been there at the time of the sample. */
static bool younger_than_sample(const struct code_cache *cache, uint32_t id)
{
	const struct code_entry *e = code_entry(cache, id);
	const struct moment *now = &cache->jvm->moment;

	return now->walking && now->sample_ns && now->sample_ns < e->read_ns && e->code.kind <= BLOB_MH_INTRINSIC;
}

/*
 * May the memory of an unloaded class's nmethod have been reused before `id` was read? That takes at least REUSE_NS,
 * since the collection must end, and a sweep and a compilation must happen.
 */
static bool reused_since_sample(struct code_cache *cache, uint32_t id)
{
	uint64_t read_ns = code_entry(cache, id)->read_ns;

	return read_ns - cache->jvm->moment.sample_ns > REUSE_NS &&
	       unloads_since_sample(cache->jvm, &cache->methods->unloads, read_ns);
}

uint32_t code_find(struct code_cache *cache, uint64_t pc)
{
	struct pc_slot *s;
	uint32_t id;

	cache->lookups++;
	if (!in_code_cache(cache, pc))
		return 0;
	s = &cache->pcs[hash_u64(pc) % PC_CACHE];
	id = s->id;
	if (s->pc != pc || s->generation != cache->pc_generation) {
		id = code_find_slow(cache, pc);
		if (!id)
			return gone_find(cache, pc, false);
		if (code_methods_read_at(cache, id, pc))
			*s = (struct pc_slot){pc, id, cache->pc_generation};
	}
	if (younger_than_sample(cache, id)) {
		uint32_t gone = gone_find(cache, pc, true);

		if (gone || (!cache->gone && reused_since_sample(cache, id)))
			return gone;
	}
	interned_use(&cache->codes, id);
	return id;
}

const struct code *code_get(const struct code_cache *cache, uint32_t id)
{
	const struct code_entry *e = code_entry(cache, id);

	return e ? &e->code : NULL;
}

const struct code *code_peek(const struct code_cache *cache, uint64_t pc)
{
	const struct live_code *live = live_find(cache, pc);

	return live ? code_get(cache, live->id) : NULL;
}

static void add_bytes(struct code_cache *cache, struct code_entry e, const uint8_t *bytes, uint32_t n)
{
	struct copy_part parts[CODE_PARTS];

	e.code.bytes = bytes;
	e.code.n_bytes = n;
	parts_of(&e, parts);
	if (interned_replace(&cache->codes, e.code.id, &e.head, sizeof(e), parts, CODE_PARTS))
		roles_note(cache, code_get(cache, e.code.id));
}

static void read_bytes(struct code_cache *cache, uint32_t code_id)
{
	const struct code_entry *e = code_entry(cache, code_id);
	uint64_t n = e ? e->code.end - e->code.begin : 0;
	uint8_t *p;

	if (!n || n > CODE_BYTES_MAX || e->code.kind != BLOB_NMETHOD || e->code.n_bytes || e->code.gone ||
	    copies_full(cache->codes.copies))
		return;
	p = malloc(n);
	if (p && jvm_read_fresh(cache->jvm, e->code.begin, p, (uint32_t)n) && nmethod_look(cache, e, true) > 0)
		add_bytes(cache, *e, p, (uint32_t)n);
	free(p);
}

void hs_code_read_rest(struct hotspot *hs, uint32_t code_id)
{
	code_methods_read_all(hs->cache, code_id);
	read_bytes(hs->cache, code_id);
}

void hs_code_read_frame(struct hotspot *hs, uint32_t code_id, uint64_t pc)
{
	(void)code_methods_read_at(hs->cache, code_id, pc);
}

uint32_t hs_code_find(struct hotspot *hs, uint64_t pc)
{
	return code_find(hs->cache, pc);
}

const struct code *hs_code(const struct hotspot *hs, uint32_t code_id)
{
	return code_get(hs->cache, code_id);
}

uint32_t hs_code_count(const struct hotspot *hs)
{
	return hs->cache->codes.n;
}

bool hs_in_code_cache(const struct hotspot *hs, uint64_t pc)
{
	return in_code_cache(hs->cache, pc);
}

/* Bytes [pc, pc + len) in the copy of a code blob; NULL: not copied. */
static const uint8_t *copied_bytes(const struct code_cache *cache, uint64_t pc, uint32_t len)
{
	const struct code *c = code_peek(cache, pc);

	if (!c || pc < c->begin || pc - c->begin > c->n_bytes || c->n_bytes - (pc - c->begin) < len)
		return NULL;
	return c->bytes + (pc - c->begin);
}

bool hs_bytes_before(struct hotspot *hs, uint64_t pc, uint8_t ret[8])
{
	const uint8_t *p = copied_bytes(hs->cache, pc - 8, 8);

	if (!p)
		return addr_ok(pc - 8) && mem_read(hs->jvm->mem, pc - 8, ret, 8);
	memcpy(ret, p, 8);
	return true;
}

uint32_t hs_code_bytes(struct hotspot *hs, uint64_t pc, uint8_t *dst, uint32_t len)
{
	const uint8_t *p = copied_bytes(hs->cache, pc, len);

	if (!p)
		return addr_ok(pc) ? (uint32_t)mem_read_some(hs->jvm->mem, pc, dst, len) : 0;
	memcpy(dst, p, len);
	return len;
}
