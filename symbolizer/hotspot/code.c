#include <stdlib.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/hs_private.h"
#include "symbolizer/hotspot/roles.h"

#define REUSE_NS UINT64_C(100000000)

/* First live code that ends behind addr. */
static size_t live_index(const struct hotspot *hs, uint64_t addr)
{
	size_t lo = 0, hi = hs->live.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (hs->live.v[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static const struct live_code *live_find(const struct hotspot *hs, uint64_t pc)
{
	size_t i = live_index(hs, pc);

	return i < hs->live.n && hs->live.v[i].start <= pc ? &hs->live.v[i] : NULL;
}

/* What was known of the same bytes is gone. */
static bool live_insert(struct hotspot *hs, struct live_code c)
{
	size_t i = live_index(hs, c.start), n = i;

	while (n < hs->live.n && hs->live.v[n].start < c.end)
		n++;
	if (n > i) {
		memmove(&hs->live.v[i], &hs->live.v[n], (hs->live.n - n) * sizeof(c));
		hs->live.n -= n - i;
		hs->pc_generation++;
	}
	if (!vec_push(&hs->live, c))
		return false;
	memmove(&hs->live.v[i + 1], &hs->live.v[i], (hs->live.n - 1 - i) * sizeof(c));
	hs->live.v[i] = c;
	return true;
}

void code_drop(struct hotspot *hs, uint32_t id)
{
	const struct code *c = hs_code(hs, id);
	size_t i = live_index(hs, c->blob);

	if (i >= hs->live.n || hs->live.v[i].id != id)
		return;
	memmove(&hs->live.v[i], &hs->live.v[i + 1], (hs->live.n - 1 - i) * sizeof(*hs->live.v));
	hs->live.n--;
	hs->pc_generation++;
}

uint64_t code_key(uint64_t blob, uint64_t identity)
{
	uint64_t k = hash_mix(blob, identity);

	return k ? k : 1;
}

/* The same blob, seen before and dropped by a false alarm. */
static uint32_t code_known(const struct hotspot *hs, const struct blob *b)
{
	uint32_t id = u64map_get(&hs->code_ids, code_key(b->addr, b->identity));
	const struct code_entry *e = id ? hs->codes.v[id - 1] : NULL;

	return e && e->code.blob == b->addr && e->identity == b->identity &&
			(b->method == 0 || e->method == b->method) ?
		id :
		0;
}

/* Code that does not change while the JVM runs. New stubs come into vtable chunks. */
static bool bytes_constant(enum blob_kind kind)
{
	return kind != BLOB_VTABLE && kind != BLOB_BUFFER && kind > BLOB_MH_INTRINSIC;
}

static void stub_bytes_copy(struct hotspot *hs, struct code *c)
{
	uint64_t n = c->end - c->begin;
	uint8_t *p;

	if (n == 0 || n > CODE_BYTES_MAX || !bytes_constant(c->kind))
		return;
	p = arena_alloc(&hs->code_parts, n);
	if (!p || !hs_read_fresh(hs, c->begin, p, (uint32_t)n))
		return;
	c->bytes = p;
	c->n_bytes = (uint32_t)n;
}

/* The two hand-written native wrappers of virtual threads (JDK 21 on). */
static enum stub_role wrapper_role(const struct hotspot *hs, const struct code *c)
{
	const struct hs_method *m = c->kind == BLOB_NATIVE ? hs_method(hs, c->method_id) : NULL;

	if (!m || strcmp(m->class_name, "jdk/internal/vm/Continuation") != 0)
		return STUB_OTHER;
	if (strcmp(m->name, "enterSpecial") == 0)
		return STUB_ENTER_SPECIAL;
	return strcmp(m->name, "doYield") == 0 ? STUB_DO_YIELD : STUB_OTHER;
}

static bool code_fill(struct hotspot *hs, const struct blob *b, struct code *c)
{
	uint32_t name = strtab_add_z(hs->names, b->name);

	*c = (struct code){
		.kind = b->kind,
		.role = stub_role_of(b->kind, b->name),
		.blob = b->addr,
		.blob_size = b->size,
		.begin = b->begin,
		.end = b->end,
		.frame_size = b->frame_size,
		.frame_complete = b->frame_complete,
		.name = name == UINT32_MAX ? "" : strtab_get(hs->names, name),
		.compile_id = b->compile_id,
		.osr_bci = b->entry_bci,
		.osr_entry = -1,
		.orig_pc_offset = -1,
		.deopt_handler = -1,
		.deopt_mh_handler = -1,
		.exception_handler = -1,
		.stub_begin = -1,
	};
	if (b->kind <= BLOB_MH_INTRINSIC) {
		if (!nmethod_copy(hs, b, c))
			return false;
		c->role = wrapper_role(hs, c);
		return true;
	}
	stub_bytes_copy(hs, c);
	if (b->kind == BLOB_STUBS)
		stub_names_refresh(hs);
	return true;
}

uint32_t code_entry_add(struct hotspot *hs, struct code_entry *e, uint32_t stamp)
{
	struct code_entry *kept;

	e->code.id = (uint32_t)hs->codes.n + 1;
	if (e->code.id >= STAMP_PERMANENT || !vec_push(&hs->code_stamps, stamp))
		return 0;
	if (!vec_push(&hs->codes, NULL)) {
		hs->code_stamps.n--;
		return 0;
	}
	kept = code_entry_new(hs, e);
	if (!kept) {
		hs->code_stamps.n--;
		hs->codes.n--;
		return 0;
	}
	hs->codes.v[e->code.id - 1] = kept;
	hs->stats.codes++;
	return e->code.id;
}

static uint32_t code_add(struct hotspot *hs, const struct blob *b)
{
	struct code_entry e = {.identity = b->identity, .method = b->method};
	uint32_t id;

	if (memory_full(hs))
		return 0;
	if (code_fill(hs, b, &e.code)) {
		e.read_ns = clock_monotonic_ns();
		id = code_entry_add(hs, &e, blob_freeable(b->kind) ? 0 : STAMP_PERMANENT);
	} else {
		id = 0;
	}
	arena_done(&hs->code_parts);
	if (!id)
		return 0;
	u64map_put(&hs->code_ids, code_key(b->addr, b->identity), id);
	return id;
}

/* *ret_bad: there is something that makes no sense, or that changed under the reader. */
static uint32_t code_intern(struct hotspot *hs, uint64_t pc, bool *ret_bad)
{
	struct block block;
	struct blob b;
	bool added = false;
	uint32_t id;

	*ret_bad = false;
	if (!block_find(hs, pc, &block))
		return 0;
	*ret_bad = !blob_read(hs, &block, &b);
	if (*ret_bad || pc < b.begin || pc >= b.end)
		return 0;
	id = code_known(hs, &b);
	if (!id) {
		id = code_add(hs, &b);
		added = true;
	}
	*ret_bad = !id;
	if (!id || !live_insert(hs, (struct live_code){b.addr, b.addr + b.size, id}))
		return 0;
	if (added && b.kind == BLOB_NMETHOD)
		roles_note(hs, hs_code(hs, id));
	return id;
}

static uint32_t code_find_slow(struct hotspot *hs, uint64_t pc)
{
	const struct live_code *live = live_find(hs, pc);
	const struct code *c = live ? hs_code(hs, live->id) : NULL;
	uint32_t id = 0;
	bool bad = true;

	if (c && pc >= c->begin && pc < c->end) {
		struct block block;

		/* So that a part of the recording finds it from this pc alone. */
		if (hs->mem->exact)
			block_find(hs, pc, &block);
		return c->id;
	}
	/* In its header or data; unless something smaller stands there now. */
	if (c && hs->code_stamps.v[c->id - 1] == STAMP_PERMANENT)
		return 0;
	/* The code cache may change under the reader: once more. */
	for (int try = 0; bad && try < 2; try++) {
		hs->stats.remote_lookups++;
		id = code_intern(hs, pc, &bad);
	}
	hs->stats.bad_blobs += bad;
	return id;
}

static void code_use(struct hotspot *hs, uint32_t id)
{
	uint32_t *stamp = &hs->code_stamps.v[id - 1];

	if (*stamp == STAMP_PERMANENT || *stamp == hs->walk ||
		walk_checked(hs, hs->codes.v[id - 1]->checked_ns))
		return;
	if (hs->walking && vec_push(&hs->used_codes, id))
		*stamp = hs->walk;
}

/* An nmethod that nobody saw at the sample's time: it may stand where another one was sampled. */
static bool younger_than_sample(const struct hotspot *hs, uint32_t id)
{
	const struct code_entry *e = hs->codes.v[id - 1];

	return hs->walking && hs->sample_ns && hs->sample_ns < e->read_ns && e->code.kind <= BLOB_MH_INTRINSIC;
}

/*
 * Could the memory of an unloaded class's code have been used again before `id` was read? Between the two lie
 * the end of the collection, a sweep and a compilation.
 */
static bool reused_since_sample(struct hotspot *hs, uint32_t id)
{
	return hs->codes.v[id - 1]->read_ns - hs->sample_ns > REUSE_NS && unloads_since_sample(hs);
}

uint32_t hs_code_find(struct hotspot *hs, uint64_t pc)
{
	struct pc_slot *s;

	hs->stats.lookups++;
	if (pc < hs->low || pc >= hs->high)
		return 0;
	s = &hs->pcs[hash_u64(pc ^ hs->seed) % PC_CACHE];
	if (s->pc != pc || s->generation != hs->pc_generation) {
		uint32_t id = code_find_slow(hs, pc);

		if (!id)
			return gone_find(hs, pc, false);
		*s = (struct pc_slot){pc, id, hs->pc_generation};
	}
	if (younger_than_sample(hs, s->id)) {
		uint32_t gone = gone_find(hs, pc, true);

		if (gone || (!hs->gone && reused_since_sample(hs, s->id)))
			return gone;
	}
	code_use(hs, s->id);
	return s->id;
}

const struct code *hs_code(const struct hotspot *hs, uint32_t code_id)
{
	const struct code_entry *e = code_id && code_id <= hs->codes.n ? hs->codes.v[code_id - 1] : NULL;

	return e ? &e->code : NULL;
}

uint32_t hs_code_count(const struct hotspot *hs)
{
	return (uint32_t)hs->codes.n;
}

const struct code *code_peek(const struct hotspot *hs, uint64_t pc)
{
	const struct live_code *live = live_find(hs, pc);

	return live ? hs_code(hs, live->id) : NULL;
}

bool hs_in_code_cache(const struct hotspot *hs, uint64_t pc)
{
	return pc >= hs->low && pc < hs->high;
}

bool hs_in_interpreter(const struct hotspot *hs, uint64_t pc)
{
	return pc >= hs->interp_start && pc < hs->interp_end;
}

enum blob_role hs_code_role(struct hotspot *hs, uint64_t target)
{
	const struct code *c;

	/* A call out of the code cache needs no record: what needs one goes through a stub. */
	if (!hs_in_code_cache(hs, target))
		return target ? ROLE_LEAF : ROLE_NONE;
	c = stub_find(hs, target);
	if (!c)
		return ROLE_NONE;
	switch (c->kind) {
	case BLOB_STUBS:
		return ROLE_LEAF;
	case BLOB_DEOPT:
		return c->role == STUB_UNCOMMON_TRAP ? ROLE_UNCOMMON_TRAP : ROLE_RUNTIME;
	case BLOB_RUNTIME:
		return c->role == STUB_CALL_RESOLVER ? ROLE_NONE : ROLE_RUNTIME;
	case BLOB_SAFEPOINT:
	case BLOB_EXCEPTION:
		return ROLE_RUNTIME;
	default:
		return ROLE_NONE;
	}
}
