#include "symbolizer/attribution/traits.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/attribution/decode/bytecodes.h"

enum {
	CALL_DEPTH = 4, /* how deep to follow calls */
	METHODS_MAX = 64, /* most methods to read */
	LOOPS_MAX = 64, /* backward branches of one method */
	MEMO_SLOTS = 1024,
};

struct machine_traits machine_traits(const struct graph *g, int32_t loop)
{
	uint8_t effects = g->loops[loop].effects;

	return (struct machine_traits){
		.floating = effects & LOOP_FLOATING,
		.stub_call = effects & LOOP_STUB_CALL,
		.runtime_call = effects & LOOP_RUNTIME_CALL,
	};
}

struct bci_range {
	int32_t from, to;
};

struct reading {
	const struct attribution_env *env;
	const struct graph *g; /* NULL: the method in general, not at a node */
	int32_t node;
	unsigned methods; /* seen so far */
	struct bytecode_traits *t;
};

/*
 * Finds the backward branches of a method and returns their number, at most max; *ret_ok: all bytecodes were decoded.
 */
static unsigned find_loops(const struct hs_method *m, int major, struct bci_range *ret, unsigned max, bool *ret_ok)
{
	struct bytecode b;
	unsigned n = 0;
	int32_t bci = 0;

	for (; bytecode_at(m, major, bci, &b); bci += (int32_t)b.len)
		if (b.kind == BYTECODE_BRANCH && b.target <= bci && n < max)
			ret[n++] = (struct bci_range){b.target, bci};
	*ret_ok = bci == m->code_size;
	return n;
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Intrinsics of C2 that seldom or never become plain instructions (library_call.cpp). */
static bool note_intrinsic(const struct hs_method *m, struct bytecode_traits *t)
{
	static const char *const math[] = {"sin", "cos", "tan", "exp", "log", "log10", NULL};
	static const char *const time[] = {"nanoTime", "currentTimeMillis", NULL};

	if (!m->class_name || !m->name)
		return false;
	if (!strcmp(m->class_name, "java/lang/Math") && is_one_of(m->name, math))
		return t->math = true;
	/* x * x, sqrt(x) for the exponents 2 and 0.5 */
	if (!strcmp(m->class_name, "java/lang/Math") && !strcmp(m->name, "pow"))
		return t->power = true;
	if (!strcmp(m->class_name, "java/lang/System") && is_one_of(m->name, time))
		return t->time = true;
	return false;
}

/* Opcodes of JVMS 6.5 */
static void note_bytecode(uint8_t op, struct bytecode_traits *t)
{
	static const uint8_t floating[] = {98, 99, 102, 103, 106, 107, 110, 111};

	if (memchr(floating, op, sizeof(floating)))
		t->floating = true;
	else if (op == 114 || op == 115 || (op >= 139 && op <= 144))
		t->conversion = true; /* frem, drem, f2i .. d2f */
	else if (op == 50 || op == 83 || (op >= 178 && op <= 181) || op == 187 || op == 188 || op == 189 || op == 197 ||
		 op == 194 || op == 195)
		t->objects = true; /* aaload, aastore, fields, allocations, monitors */
}

static void read_method(struct reading *r, uint32_t id, const struct bci_range *within, unsigned n, unsigned depth);

/* Opcodes iaload to saload, iastore to sastore. */
static bool has_arrays(const struct hs_method *m, int major)
{
	struct bytecode b;

	for (int32_t bci = 0; bytecode_at(m, major, bci, &b); bci += (int32_t)b.len)
		if ((b.java >= 46 && b.java <= 53) || (b.java >= 79 && b.java <= 86))
			return true;
	return false;
}

/* Is there no compiled code for the call at this bci of the node? */
static bool is_left_out(const struct reading *r, const struct hs_method *callee, int32_t bci)
{
	return r->g && !graph_has_site(r->g, r->node, bci) && has_arrays(callee, r->env->major);
}

static void read_call(struct reading *r, uint32_t caller, const struct bytecode *b, unsigned depth)
{
	const struct attribution_env *env = r->env;
	uint32_t id = b->kind == BYTECODE_INVOKE && env->callee ? env->callee(env->ctx, caller, b->bci) : 0;
	const struct hs_method *m = id ? env->method(env->ctx, id) : NULL;

	if (m && note_intrinsic(m, r->t))
		return;
	if (!m || !m->bytecodes || m->code_size == 0 || depth >= CALL_DEPTH) {
		r->t->unknown = true;
		return;
	}
	if (depth == 0 && is_left_out(r, m, b->bci))
		r->t->left_out = true;
	read_method(r, id, NULL, 0, depth + 1);
}

static bool in_ranges(int32_t bci, const struct bci_range *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (bci >= r[i].from && bci <= r[i].to)
			return true;
	return n == 0;
}

/* Collects what the method does at the bcis of `within` (n 0: everywhere). */
static void read_method(struct reading *r, uint32_t id, const struct bci_range *within, unsigned n, unsigned depth)
{
	const struct hs_method *m = r->env->method(r->env->ctx, id);
	struct bytecode b;
	int32_t bci = 0;

	if (r->methods++ >= METHODS_MAX) {
		r->t->unknown = true;
		return;
	}
	for (; bytecode_at(m, r->env->major, bci, &b); bci += (int32_t)b.len) {
		if (!in_ranges(bci, within, n))
			continue;
		if (b.kind == BYTECODE_INVOKE || b.kind == BYTECODE_INVOKEDYNAMIC)
			read_call(r, id, &b, depth);
		else if (b.kind == BYTECODE_BRANCH && depth > 0 && b.target <= bci)
			r->t->loops = true;
		else
			note_bytecode(b.java, r->t);
	}
	if (bci != m->code_size)
		r->t->unknown = true;
}

static void traits_read(const struct attribution_env *env, uint32_t method_id, const struct graph *g, int32_t node,
			struct bytecode_traits *ret)
{
	const struct hs_method *m = method_id && env->method ? env->method(env->ctx, method_id) : NULL;
	struct reading r = {.env = env, .g = g, .node = node, .t = ret};
	struct bci_range loops[LOOPS_MAX];
	bool ok;
	unsigned n;

	memset(ret, 0, sizeof(*ret));
	if (!m || !m->bytecodes || m->code_size == 0) {
		ret->unknown = true;
		return;
	}
	n = find_loops(m, env->major, loops, LOOPS_MAX, &ok);
	ret->loops = n > 0;
	ret->unknown = !ok || n == LOOPS_MAX;
	read_method(&r, method_id, loops, n, 0);
	ret->left_out = ret->left_out && n == 1;
}

struct traits_memo {
	struct {
		uint32_t method_id; /* 0: none */
		struct bytecode_traits traits;
	} slots[MEMO_SLOTS];
};

struct traits_memo *traits_memo_new(void)
{
	return calloc(1, sizeof(struct traits_memo));
}

void traits_memo_free(struct traits_memo *m)
{
	free(m);
}

void bytecode_traits(const struct attribution_env *env, uint32_t method_id, struct bytecode_traits *ret)
{
	struct traits_memo *memo = env->traits;
	uint32_t slot = method_id % MEMO_SLOTS;

	if (memo && method_id && memo->slots[slot].method_id == method_id) {
		*ret = memo->slots[slot].traits;
		return;
	}
	traits_read(env, method_id, NULL, -1, ret);
	if (memo) {
		memo->slots[slot].method_id = method_id;
		memo->slots[slot].traits = *ret;
	}
}

void bytecode_traits_at(const struct graph *g, const struct attribution_env *env, int32_t node,
			struct bytecode_traits *ret)
{
	traits_read(env, g->tree.nodes.v[node].method_id, g, node, ret);
}

bool traits_agree(const struct machine_traits *m, const struct bytecode_traits *b)
{
	bool calls = m->stub_call || m->runtime_call;

	/* Compilers neither add nor remove floating-point arithmetic. */
	if (b->floating && !m->floating)
		return false;
	/* Without a stub (-XX:-UseLibmIntrinsic), math functions of libjvm are called. */
	if ((b->math && !calls) || (b->time && !m->runtime_call) || (b->power && !calls && !m->floating))
		return false;
	if (b->unknown || b->power)
		return true;
	if (m->floating && !b->floating)
		return false;
	return !calls || b->objects || b->conversion || b->math || b->time;
}
