#include "test_attribution_code.h"
#include "test_attribution_dump.h"

#include <errno.h>

#include "symbolizer/attribution/graph_build.h"
#include "symbolizer/base/hash.h"

/* The finished graph says the same as what it was made of. */

/* The jumps of an instruction are its successors but for the next one, in order. */
static void check_successors(const struct graph_build *b, const struct graph *g, uint32_t i)
{
	uint32_t k = g->insns[i].flags & INSN_TAKEN ? graph_jumps_from(g, i) : g->n_jumps;

	assert_int_equal(build_successor(b, i, 0), g->insns[i].flags & INSN_FALLS ? (int32_t)i + 1 : -1);
	for_each_successor(s, b, i, 1) {
		assert_true(k < g->n_jumps);
		assert_int_equal(g->jumps[k].from, i);
		assert_int_equal(g->jumps[k].to, s);
		k++;
	}
	assert_true(k == g->n_jumps || g->jumps[k].from != i);
}

/* Returns the number of jumps to an instruction; check_successors() has seen that they exist. */
static uint32_t check_predecessors(const struct graph_build *b, const struct graph *g, uint32_t i)
{
	uint32_t k = g->insns[i].flags & INSN_JOINED ? graph_jumps_to(g, i) : g->n_jumps, n = 0, last = 0;

	assert_int_equal(graph_falls_into(g, i), i > 0 && build_successor(b, i - 1, 0) == (int32_t)i);
	for (; k < g->n_jumps && g->jumps[g->by_target[k]].to == i; k++, n++) {
		assert_true(n == 0 || g->by_target[k] > last);
		last = g->by_target[k];
	}
	return n;
}

static void check_place(const struct graph_build *b, const struct graph *g, uint32_t i)
{
	const struct build_insn *in = &b->insns[i];

	assert_int_equal(g->insns[i].len, in->len);
	assert_int_equal(g->insns[i].class, in->class);
	assert_int_equal(g->insns[i].flags, (uint8_t)in->flags);
	assert_int_equal(graph_offset(g, i), in->off);
	assert_int_equal(graph_find(g, in->off), i);
	assert_int_equal(graph_find(g, in->off + in->len - 1), i);
	assert_int_equal(graph_loop(g, i), in->loop);
	if (i > 0)
		assert_int_equal(graph_find(g, in->off - 1), i - 1);
}

static void check_evidence(const struct graph_build *b, const struct graph *g, uint32_t i)
{
	const struct evidence *e;
	struct evidence got;

	assert_int_equal(!!(g->insns[i].flags & INSN_EVIDENCE), b->insns[i].evidence >= 0);
	if (b->insns[i].evidence < 0)
		return;
	e = &b->evidence.v[b->insns[i].evidence];
	got = graph_evidence(g, i);
	assert_int_equal(got.kind, e->kind);
	assert_int_equal(got.trap, e->trap);
	assert_int_equal(got.at_call, e->at_call);
	assert_memory_equal(&got.pos, &e->pos, sizeof(e->pos));
	assert_memory_equal(&got.after, &e->after, sizeof(e->after));
	assert_true(graph_has_site(g, e->pos.node, e->pos.bci));
	assert_false(graph_has_site(g, e->pos.node, INT32_MAX));
}

static void check_same(const struct graph_build *b, const struct graph *g)
{
	uint32_t jumps = 0;

	assert_int_equal(g->n_insns, b->n_insns);
	for (uint32_t i = 0; i < g->n_insns; i++) {
		check_place(b, g, i);
		check_successors(b, g, i);
		check_evidence(b, g, i);
		jumps += check_predecessors(b, g, i);
	}
	assert_int_equal(jumps, g->n_jumps);
	assert_int_equal(g->n_evidence, b->evidence.n);
	assert_int_equal(g->damaged, b->damaged);
	assert_int_equal(g->n_loops, b->loops.n);
	if (g->n_loops)
		assert_memory_equal(g->loops, b->loops.v, g->n_loops * sizeof(*g->loops));
	assert_int_equal(g->tree.nodes.n, b->tree.nodes.n);
	assert_ptr_equal((const uint8_t *)(g->insns + g->n_insns), (const uint8_t *)g + g->bytes);
}

/* false: there is no graph. */
static bool check_code(const struct code *code, const struct attribution_env *env)
{
	struct decoder *d = decoder_new();
	struct graph_build b = {.code = code, .env = env, .decoder = d};
	struct graph *g = NULL;
	int r = build_run(&b);

	if (r == 0) {
		assert_int_equal(graph_pack(&b, &g), 0);
		check_same(&b, g);
	}
	graph_free(g);
	build_done(&b);
	decoder_free(d);
	return r == 0;
}

static void test_branches(void **state)
{
	static struct fake f;
	int32_t scope;
	uint32_t top;

	(void)state;
	fake_init(&f);
	scope = fake_scope(&f, 0, 1, 7);
	fake_je_to(&f, fake_here(&f)); /* to itself */
	top = fake_work(&f, 70);
	fake_poll(&f, scope);
	fake_je_to(&f, fake_here(&f) + 6); /* to the next one, which control reaches anyway */
	fake_je_to(&f, top);
	fake_je_to(&f, top + 10);
	fake_work(&f, 3);
	fake_je_to(&f, top);
	fake_patch(&f, fake_jmp(&f), 5, fake_here(&f) - 5);
	assert_true(check_code(&f.code, &f.env));
}

static void test_no_evidence_and_gaps(void **state)
{
	static struct fake f;
	uint32_t over;

	(void)state;
	fake_init(&f);
	fake_work(&f, 40);
	over = fake_jmp(&f);
	fake_emit(&f, "\x06\x06\x06", 3); /* not instructions */
	fake_bind(&f, over);
	fake_work(&f, 40);
	fake_ret(&f);
	assert_true(check_code(&f.code, &f.env));
}

/* Branches into the middle of an instruction: the code is not what the tables are of. */
static void test_overlapping_code(void **state)
{
	static struct fake f;
	uint32_t at;

	(void)state;
	fake_init(&f);
	at = fake_emit(&f, "\x48\xb8\x01\xc8\x01\xc8\x01\xc8\x01\xc8", 10);
	fake_je_to(&f, at + 2);
	fake_je_to(&f, at + 3);
	fake_poll(&f, fake_scope(&f, 0, 1, 7));
	fake_ret(&f);
	assert_true(check_code(&f.code, &f.env));
}

/* lea r10, [rip + table]; jmp [r10 + rax]; without `table`, only the jump */
static void emit_switch(struct fake *f, int64_t table)
{
	if (table)
		fake_patch(f, fake_emit(f, "\x4c\x8d\x15\0\0\0\0", 7), 7, table);
	fake_emit(f, "\x41\xff\x24\x02", 4);
}

static void test_jump_tables(void **state)
{
	static struct fake f;
	uint64_t table[5];

	(void)state;
	fake_init(&f);
	emit_switch(&f, -64);
	for (int i = 0; i < 4; i++) {
		table[i] = FAKE_BEGIN + fake_work(&f, 3);
		fake_ret(&f);
		emit_switch(&f, i % 2 ? -64 : 0); /* orphans themselves, which jump to known targets and to orphans */
	}
	table[4] = FAKE_BEGIN + 1; /* inside of an instruction */
	memcpy(f.constants + sizeof(f.constants) - 64, table, sizeof(table));
	assert_true(check_code(&f.code, &f.env));
}

/* Each of many indirect jumps may lead to each block: such a graph would fill the memory. */
static void test_too_many_jumps(void **state)
{
	static struct fake f;
	struct decoder *d = decoder_new();
	struct graph *g = NULL;

	(void)state;
	fake_init(&f);
	for (int i = 0; i < 4000; i++)
		fake_emit(&f, "\xff\xe0", 2);
	assert_int_equal(graph_new(&f.code, &f.env, d, &g), -E2BIG);
	f.code.n_bytes = 2 * 300;
	assert_true(check_code(&f.code, &f.env));
	decoder_free(d);
}

static uint64_t next(uint64_t *seed)
{
	return *seed = hash_u64(*seed + 0x9e3779b97f4a7c15ull);
}

/* Compiled code, as it is and with random bytes in it. */
static void test_real_code(void **state)
{
	static const char *const files[] = {FIXTURES "/attribution/normal.code", FIXTURES "/attribution/osr.code"};
	uint64_t seed = 1;
	unsigned graphs = 0;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct dump d;

		dump_load(files[round % 2], &d);
		for (int i = 0; i < round; i++)
			((uint8_t *)d.code.bytes)[next(&seed) % d.code.n_bytes] = (uint8_t)next(&seed);
		graphs += check_code(&d.code, &d.env);
		dump_done(&d);
	}
	assert_true(graphs > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches),         cmocka_unit_test(test_no_evidence_and_gaps),
		cmocka_unit_test(test_overlapping_code), cmocka_unit_test(test_jump_tables),
		cmocka_unit_test(test_too_many_jumps),   cmocka_unit_test(test_real_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
