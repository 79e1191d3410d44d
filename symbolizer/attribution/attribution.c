#include "symbolizer/attribution/attribution.h"

#include <stdlib.h>

#include "symbolizer/attribution/address_rule.h"
#include "symbolizer/attribution/cache.h"
#include "symbolizer/attribution/choice.h"
#include "symbolizer/attribution/elimination.h"
#include "symbolizer/attribution/env.h"
#include "symbolizer/attribution/env_cache.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/callee.h"

enum {
	CACHE_BYTES = 64 << 20,
	PREPARE_MAX = 64, /* loops without evidence in one graph */
	PREPARED_MAX = 4096, /* ids of code */
	GAP_MAX = 16, /* most bytes between an instruction and a pc attributed to it */
};

struct attribution {
	struct env_cache *known;
	const struct attribution_env *env; /* owned by `known` */
	struct decoder *decoder;
	struct graph_cache *own_cache, *cache; /* own_cache NULL: `cache` is shared with others */
	uint32_t number; /* in the cache */
	struct choice_scratch scratch;
	struct u64map prepared; /* code ids */
	uint64_t limit_ns, left_ns, refused; /* CPU time, and what is left of it; look-ups refused for lack of it */
};

static enum blob_role hotspot_role(void *ctx, uint64_t target)
{
	if (target && !hs_in_code_cache(ctx, target))
		return ROLE_NATIVE;
	return hs_code_role(ctx, target);
}

static const struct hs_method *hotspot_method(void *ctx, uint32_t id)
{
	return hs_method(ctx, id);
}

static uint32_t hotspot_bytes(void *ctx, uint64_t addr, uint8_t *dst, uint32_t len)
{
	return hs_code_bytes(ctx, addr, dst, len);
}

static uint32_t hotspot_callee(void *ctx, uint32_t method_id, int32_t bci)
{
	return hs_callee_at(ctx, method_id, bci);
}

static enum trap_kind hotspot_trap(void *ctx, int32_t request)
{
	return hs_trap_kind(ctx, request);
}

struct attribution *attribution_new_env(const struct attribution_env *env, uint64_t limit_ns, struct graph_cache *cache)
{
	struct attribution *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->known = env_cache_new(env);
	a->decoder = decoder_new();
	a->own_cache = cache ? NULL : graph_cache_new(CACHE_BYTES);
	a->cache = cache ? cache : a->own_cache;
	if (!a->known || !a->decoder || !a->cache) {
		attribution_free(a);
		return NULL;
	}
	a->env = env_cache_env(a->known);
	a->number = graph_cache_join(a->cache);
	a->limit_ns = a->left_ns = limit_ns;
	return a;
}

struct attribution *attribution_new(struct hotspot *hs, struct graph_cache *cache)
{
	struct attribution_env env = {
		.ctx = hs,
		.major = hotspot_version(hs)->major,
		.role = hotspot_role,
		.method = hotspot_method,
		.bytes = hotspot_bytes,
		.callee = hotspot_callee,
		.trap = hotspot_trap,
	};

	return attribution_new_env(&env, ATTRIBUTION_LIMIT_NS, cache);
}

uint64_t attribution_refused(const struct attribution *a)
{
	return a->refused;
}

void attribution_grant(struct attribution *a, uint64_t ns)
{
	a->left_ns = ns < a->limit_ns - a->left_ns ? a->left_ns + ns : a->limit_ns;
	a->refused = 0;
}

static void spend(struct attribution *a, uint64_t since_ns)
{
	uint64_t took = clock_thread_cpu_ns() - since_ns;

	a->left_ns -= took < a->left_ns ? took : a->left_ns;
}

void attribution_free(struct attribution *a)
{
	if (!a)
		return;
	env_cache_free(a->known);
	decoder_free(a->decoder);
	if (!a->own_cache && a->cache)
		graph_cache_leave(a->cache, a->number);
	graph_cache_free(a->own_cache);
	choice_scratch_done(&a->scratch);
	u64map_done(&a->prepared);
	free(a);
}

static const struct graph *graph_of(struct attribution *a, const struct code *code)
{
	const struct graph *known = NULL;
	struct graph *g = NULL;

	if (!code->n_bytes)
		return NULL; /* they may still be read: hs_code_read_rest() */
	if (graph_cache_find(a->cache, a->number, code->id, &known))
		return known;
	if (graph_new(code, a->env, a->decoder, &g))
		g = NULL;
	return graph_cache_add(a->cache, a->number, code->id, g) ? NULL : g;
}

static void take_scopes(const struct graph *g, struct inline_pos pos, struct attributed *ret)
{
	ret->n = inline_tree_scopes(&g->tree, pos, ret->scope, CODE_MAX_SCOPES);
}

static bool is_evidence(const struct choice_end *e)
{
	return e->found && !e->pseudo;
}

static bool has_end(const struct choice *c, enum evidence_kind kind)
{
	return (is_evidence(&c->forward) && c->forward.kind == kind) ||
	       (is_evidence(&c->backward) && c->backward.kind == kind);
}

static bool has_predicate(const struct choice *c)
{
	return (is_evidence(&c->forward) && c->forward.trap == TRAP_OF_LOOP) ||
	       (is_evidence(&c->backward) && c->backward.trap == TRAP_OF_LOOP);
}

/*
 * Does an instruction of C2 code that is evidence belong to the method of that evidence? Not if it is a check before a
 * loop, which may belong to any method inlined in the loop; an access that serves as the null check of an inlined
 * method (up to 62 % belong to another method, H2); a check of the receiver of a call whose callee is unknown; or a
 * branch of the program whose other side was never taken.
 */
static bool evidence_is_own(const struct choice *c)
{
	const struct evidence *e = &c->own;

	if (e->trap == TRAP_OF_LOOP)
		return false;
	if (e->kind != EVIDENCE_NULL)
		return true;
	return c->pos.node == 0 && !e->at_call && e->trap != TRAP_OF_BRANCH;
}

/*
 * Does the instruction belong to the method of the evidence found? C2 moves code and checks:
 * - Before a branch with the evidence on only one side, up to 33 % of the samples belong to the other side (Clojure).
 *   The exception is the compiled method itself, if all paths from and to the instruction are its own and the entry or
 *   a poll is next (100 % right everywhere).
 * - Between two checks of an inlined method, 17 to 33 % of the samples belong to its caller or another method (javac).
 * - Instructions among checks before a loop may belong to anything inlined in it.
 * Polls are not moved, and neither is code between calls.
 */
static bool stays(const struct graph *g, uint32_t insn, const struct choice *c)
{
	bool poll = has_end(c, EVIDENCE_POLL);

	if (g->c1)
		return c->forward.found && c->backward.found;
	if (c->is_evidence)
		return c->backward.found && evidence_is_own(c);
	if (has_predicate(c) && !poll)
		return false;
	if (!c->forward.alone || !c->backward.found)
		return (poll || c->backward.pseudo) && c->pos.node == 0 && graph_encloses(g, insn);
	return c->pos.node == 0 || poll || (c->forward.kind == EVIDENCE_CALL && c->backward.kind == EVIDENCE_CALL);
}

/*
 * Can no inlined method be hidden in between? Methods that C1 inlines without a record of their own are usually
 * getters, whose only access is a null check at the call. Next to such a check, up to 78 % of the samples belong to the
 * getter (H2), elsewhere 0 to 6 %.
 */
static bool hides_nothing(struct attribution *a, const struct graph *g, const struct choice *c)
{
	return (g->c1 && !has_end(c, EVIDENCE_NULL)) || !may_hide_callee(g, a->env, c);
}

/*
 * Is there evidence of the same path on both sides, or none back to the entry, and no call in between that could be
 * hidden?
 */
static bool is_agreed(struct attribution *a, const struct graph *g, uint32_t insn, const struct choice *c)
{
	return c->forward.found && c->pos.node == c->forward.pos.node &&
	       (!c->backward.found || c->pos.node == c->backward.pos.node) && stays(g, insn, c) &&
	       hides_nothing(a, g, c);
}

static bool choose_hidden(struct attribution *a, const struct graph *g, const struct choice *c, struct attributed *ret)
{
	struct hidden_callee h;

	if (c->loop < 0 || (!c->ancestor && c->forward.pos.node != c->backward.pos.node) ||
	    !find_hidden_callee(g, a->env, c, &h))
		return false;
	ret->n = 1 + inline_tree_scopes(&g->tree, h.at, ret->scope + 1, CODE_MAX_SCOPES - 1);
	ret->scope[0] = (struct code_scope){.method_id = h.method_id, .bci = -1};
	return true;
}

/* Looks up everything that find_hidden_callee() will need for the loops of a graph. */
static void prepare_loops(struct attribution *a, const struct graph *g)
{
	struct hidden_callee h;
	struct choice c;
	int32_t last = -1;

	for (uint32_t i = 0, n = 0; i < g->n_runs && n < PREPARE_MAX; i++) {
		int32_t loop = g->runs[i].loop;

		if (loop == last || g->loops[loop].evidence)
			continue;
		last = loop;
		n++;
		if (choose(g, &a->scratch, g->runs[i].insn, &c) == 0 && c.loop >= 0)
			find_hidden_callee(g, a->env, &c, &h);
	}
}

/* false: already noted, or out of memory. */
static bool note_prepared(struct attribution *a, uint32_t code_id)
{
	return !u64map_get(&a->prepared, code_id) && u64map_put(&a->prepared, code_id, 1);
}

bool attribution_needs_rest(const struct code *code, int64_t pc_offset, int return_address)
{
	return code->kind == BLOB_NMETHOD && !(return_address && record_at(code, pc_offset));
}

void attribution_prepare(struct attribution *a, const struct code *code, int64_t pc_offset, int return_address)
{
	const struct graph *g;
	uint64_t start;

	if (!attribution_needs_rest(code, pc_offset, return_address) || code->tier != TIER_C2 || !a->left_ns ||
	    !note_prepared(a, code->id))
		return;
	start = clock_thread_cpu_ns();
	g = graph_of(a, code);
	if (g)
		prepare_loops(a, g);
	spend(a, start);
}

void attribution_keep(struct attribution *a, struct hotspot *hs)
{
	env_cache_keep(a->known, hs);
	/* Ids would pile up. Those still in use are prepared again, which takes a graph that may not be in the cache. */
	if (a->prepared.n > PREPARED_MAX)
		u64map_done(&a->prepared);
}

/* -1: the pc is not in the graph. */
static int find_by_flow(struct attribution *a, const struct graph *g, int64_t pc, struct attributed *ret)
{
	int32_t i = pc >= 0 && pc <= INT32_MAX ? graph_find(g, (uint32_t)pc) : -1;
	struct choice c;
	bool hidden;

	if (i < 0 || pc >= (int64_t)graph_offset(g, (uint32_t)i) + g->insns[i].len + GAP_MAX ||
	    choose(g, &a->scratch, (uint32_t)i, &c))
		return -1;
	hidden = choose_hidden(a, g, &c, ret);
	if (!hidden)
		take_scopes(g, c.pos, ret);
	if (g->damaged)
		ret->exactness = EXACT_APPROXIMATE;
	else if (hidden)
		ret->exactness = EXACT_INFERRED;
	else if (c.is_evidence && (c.own.kind == EVIDENCE_CALL || c.own.kind == EVIDENCE_POLL))
		ret->exactness = EXACT;
	else
		ret->exactness = is_agreed(a, g, (uint32_t)i, &c) ? EXACT_FLOW : EXACT_APPROXIMATE;
	return 0;
}

/* false: no time is left, or the control flow is unknown. */
static bool follow_flow(struct attribution *a, const struct code *c, int64_t pc, struct attributed *ret)
{
	uint64_t start = clock_thread_cpu_ns();
	const struct graph *g;
	bool found;

	if (!a->left_ns) {
		a->refused++;
		return false;
	}
	g = graph_of(a, c);
	found = g && find_by_flow(a, g, pc, ret) == 0;
	spend(a, start);
	return found;
}

/* Nothing is inlined before the verified entry, or in the stubs after the code. */
static bool is_outside_body(const struct code *c, int64_t pc)
{
	return (c->osr_bci == CODE_NO_OSR && pc < c->verified_entry) || (c->stub_begin >= 0 && pc >= c->stub_begin);
}

static void find_in_nmethod(struct attribution *a, const struct code *c, int64_t pc, bool is_return,
			    struct attributed *ret)
{
	const struct code_record *r = is_return ? record_at(c, pc) : NULL;

	if (r) {
		record_scopes(c, a->env->major, r, ret);
		ret->exactness = EXACT;
		return;
	}
	if (is_return && pc > 0)
		pc--; /* a leaf call: attributed like a pc in the call instruction */
	if (is_outside_body(c, pc)) {
		root_scope(c, -1, ret);
		ret->exactness = EXACT_FLOW;
		return;
	}
	if (c->tier < TIER_C2 && c->n_extra_records > 0) {
		/* Extra records follow the code that they cover, without gaps. */
		address_rule(c, a->env->major, pc, false, ret);
		if (ret->exactness == EXACT_APPROXIMATE && record_after(c, pc))
			ret->exactness = EXACT_FLOW;
		return;
	}
	if (follow_flow(a, c, pc, ret))
		return;
	address_rule(c, a->env->major, pc, false, ret);
	ret->exactness = EXACT_APPROXIMATE;
}

void attribution_find(struct attribution *a, const struct code *code, int64_t pc_offset, int return_address,
		      struct attributed *ret)
{
	ret->n = 0;
	ret->exactness = EXACT;
	if (code->kind == BLOB_NATIVE || code->kind == BLOB_MH_INTRINSIC)
		root_scope(code, -1, ret);
	else if (code->kind == BLOB_NMETHOD)
		find_in_nmethod(a, code, pc_offset, return_address, ret);
}
