#include "test_attribution_code.h"

#include <errno.h>

#include "symbolizer/attribution/cache.h"
#include "symbolizer/attribution/graph.h"

static struct graph *build(struct fake *f)
{
	struct decoder *d = decoder_new();
	struct graph *g = NULL;

	assert_non_null(d);
	assert_int_equal(graph_new(&f->code, &f->env, d, &g), 0);
	decoder_free(d);
	return g;
}

static uint32_t index_at(const struct graph *g, uint32_t off)
{
	int32_t i = graph_find(g, off);

	assert_true(i >= 0);
	assert_int_equal(graph_offset(g, (uint32_t)i), off);
	return (uint32_t)i;
}

static const struct graph_insn *insn_at(const struct graph *g, uint32_t off)
{
	return &g->insns[index_at(g, off)];
}

static int32_t loop_at(const struct graph *g, uint32_t off)
{
	return graph_loop(g, index_at(g, off));
}

static enum evidence_kind kind_at(const struct graph *g, uint32_t off)
{
	uint32_t i = index_at(g, off);

	return g->insns[i].flags & INSN_EVIDENCE ? graph_evidence(g, i).kind : EVIDENCE_KINDS;
}

/* Where jump k of the instruction at `off` leads; -1: there is none. */
static int64_t jump_at(const struct graph *g, uint32_t off, uint32_t k)
{
	uint32_t i = index_at(g, off), first = graph_jumps_from(g, i);

	if (first + k >= g->n_jumps || g->jumps[first + k].from != i)
		return -1;
	return graph_offset(g, g->jumps[first + k].to);
}

static void test_evidence_of_every_kind(void **state)
{
	static struct fake f;
	struct fake_trap trap;
	uint32_t call, leaf, poll, slow, load, other, handler;
	int32_t s;
	struct graph *g;

	(void)state;
	fake_init(&f);
	s = fake_scope(&f, 0, 1, 7);
	call = fake_call(&f, FAKE_JAVA, s);
	leaf = fake_call(&f, FAKE_LEAF, 0);
	fake_work(&f, 1);
	poll = fake_poll(&f, s);
	trap.insn = fake_je(&f);
	trap.scope = s;
	slow = fake_je(&f);
	load = fake_load(&f);
	other = fake_je_to(&f, call);
	fake_ret(&f);
	fake_traps(&f, &trap, 1);
	fake_bind(&f, slow);
	fake_call(&f, FAKE_RUNTIME, s);
	fake_patch(&f, fake_jmp(&f), 5, load);
	handler = fake_work(&f, 1);
	fake_call(&f, FAKE_TRAP, s);
	f.null_checks[f.code.n_null_checks++] = (struct code_pair){load, handler};
	g = build(&f);

	assert_int_equal(kind_at(g, call), EVIDENCE_CALL);
	assert_int_equal(kind_at(g, leaf), EVIDENCE_KINDS);
	assert_int_equal(kind_at(g, poll), EVIDENCE_POLL);
	assert_int_equal(kind_at(g, trap.insn), EVIDENCE_TRAP);
	assert_int_equal(kind_at(g, slow), EVIDENCE_SLOW);
	assert_int_equal(kind_at(g, load), EVIDENCE_NULL);
	assert_int_equal(kind_at(g, other), EVIDENCE_KINDS);
	/* edges to cold code are cut, others stay */
	assert_false(insn_at(g, trap.insn)->flags & INSN_TAKEN);
	assert_false(insn_at(g, slow)->flags & INSN_TAKEN);
	assert_true(insn_at(g, other)->flags & INSN_TAKEN);
	graph_free(g);
}

static void test_fall_through_into_a_trap(void **state)
{
	static struct fake f;
	uint32_t branch, hot;
	struct graph *g;

	(void)state;
	fake_init(&f);
	branch = fake_je(&f);
	fake_call(&f, FAKE_TRAP, fake_scope(&f, 0, 1, 7));
	fake_bind(&f, branch);
	hot = fake_work(&f, 2);
	fake_ret(&f);
	g = build(&f);
	assert_int_equal(kind_at(g, branch), EVIDENCE_TRAP);
	assert_false(insn_at(g, branch)->flags & INSN_FALLS);
	assert_int_equal(jump_at(g, branch, 0), hot);
	graph_free(g);
}

static void test_nested_loops(void **state)
{
	static struct fake f;
	uint32_t outer, mid, inner, sibling, after;
	struct graph *g;
	const struct loop *l;
	int32_t o, m, i, s;

	(void)state;
	fake_init(&f);
	fake_work(&f, 2);
	outer = fake_work(&f, 2);
	mid = fake_work(&f, 2);
	inner = fake_work(&f, 2);
	fake_je_to(&f, inner);
	fake_je_to(&f, mid);
	sibling = fake_work(&f, 2);
	fake_poll(&f, fake_scope(&f, 0, 1, 7));
	fake_je_to(&f, sibling);
	fake_je_to(&f, outer);
	after = fake_ret(&f);
	g = build(&f);
	o = loop_at(g, outer);
	m = loop_at(g, mid);
	i = loop_at(g, inner);
	s = loop_at(g, sibling);
	assert_int_equal(g->n_loops, 4);
	assert_int_equal(loop_at(g, 0), -1);
	assert_int_equal(loop_at(g, after), -1);
	l = g->loops;
	assert_int_equal(l[o].parent, -1);
	assert_int_equal(l[m].parent, o);
	assert_int_equal(l[i].parent, m);
	assert_int_equal(l[s].parent, o);
	assert_true(loop_contains(g, o, i));
	assert_true(loop_contains(g, m, i));
	assert_false(loop_contains(g, m, s));
	assert_false(loop_contains(g, m, -1));
	assert_false(l[m].evidence);
	assert_true(l[s].evidence);
	assert_true(l[o].evidence);
	graph_free(g);
}

/* lea r10, [rip + table]; jmp [r10 + rax] */
static uint32_t emit_switch(struct fake *f, int64_t table)
{
	uint32_t at = fake_emit(f, "\x4c\x8d\x15\0\0\0\0", 7);

	fake_patch(f, at, 7, table);
	return fake_emit(f, "\x41\xff\x24\x02", 4);
}

static void test_jump_table_is_read(void **state)
{
	static struct fake f;
	uint32_t jump, one, two, three;
	uint64_t table[4];
	struct graph *g;

	(void)state;
	fake_init(&f);
	jump = emit_switch(&f, -64);
	one = fake_work(&f, 1);
	fake_ret(&f);
	two = fake_work(&f, 1);
	fake_ret(&f);
	three = fake_work(&f, 1);
	fake_ret(&f);
	table[0] = FAKE_BEGIN + one;
	table[1] = FAKE_BEGIN + two;
	table[2] = FAKE_BEGIN + two;
	table[3] = 0x123456789;
	memcpy(f.constants + sizeof(f.constants) - 64, table, sizeof(table));
	g = build(&f);
	assert_int_equal(insn_at(g, jump)->class, INSN_JMP_INDIRECT);
	assert_int_equal(insn_at(g, jump)->flags & (INSN_FALLS | INSN_TAKEN), INSN_TAKEN);
	assert_int_equal(jump_at(g, jump, 0), one);
	assert_int_equal(jump_at(g, jump, 1), two);
	assert_int_equal(jump_at(g, jump, 2), two);
	assert_int_equal(jump_at(g, jump, 3), -1);
	/* decoded, but nothing leads there */
	assert_false(insn_at(g, three)->flags & INSN_JOINED);
	assert_false(graph_falls_into(g, index_at(g, three)));
	graph_free(g);
}

static void test_orphans_follow_a_jump_without_table(void **state)
{
	static struct fake f;
	uint32_t jump, one, two;
	struct graph *g;

	(void)state;
	fake_init(&f);
	jump = fake_emit(&f, "\x41\xff\x24\x02", 4);
	one = fake_work(&f, 1);
	fake_ret(&f);
	two = fake_work(&f, 1);
	fake_ret(&f);
	fake_call(&f, FAKE_TRAP, fake_scope(&f, 0, 1, 7)); /* cold: not linked */
	g = build(&f);
	assert_int_equal(jump_at(g, jump, 0), one);
	assert_int_equal(jump_at(g, jump, 1), two);
	assert_int_equal(jump_at(g, jump, 2), -1);
	graph_free(g);
}

/* A not-entrant method: jmp out over the first 5 of 7 bytes. */
static void test_patched_entry(void **state)
{
	static struct fake f;
	uint32_t next;
	struct graph *g;

	(void)state;
	fake_init(&f);
	fake_emit(&f, "\xe9\0\0\0\x40\xfe\xff", 7);
	next = fake_work(&f, 3);
	fake_poll(&f, fake_scope(&f, 0, 1, 7));
	fake_ret(&f);
	g = build(&f);
	assert_int_equal(insn_at(g, 0)->len, 7);
	assert_true(insn_at(g, 0)->flags & INSN_FALLS);
	insn_at(g, next);
	graph_free(g);
}

static void test_stubs_are_not_swept(void **state)
{
	static struct fake f;
	uint32_t stub;
	struct graph *g;

	(void)state;
	fake_init(&f);
	fake_work(&f, 2);
	fake_ret(&f);
	stub = fake_work(&f, 4);
	f.code.stub_begin = stub;
	g = build(&f);
	assert_true(graph_find(g, stub) == graph_find(g, stub - 1));
	graph_free(g);
}

static void test_refuses_what_it_cannot_decode(void **state)
{
	static struct fake f;
	struct decoder *d = decoder_new();
	struct graph *g = NULL;

	(void)state;
	fake_init(&f);
	assert_int_equal(graph_new(&f.code, &f.env, d, &g), -EINVAL);
	f.code.n_bytes = GRAPH_MAX_BYTES + 1;
	assert_int_equal(graph_new(&f.code, &f.env, d, &g), -E2BIG);
	f.code.n_bytes = 3;
	memset(f.bytes, 0x06, 3); /* invalid in 64-bit mode */
	assert_int_equal(graph_new(&f.code, &f.env, d, &g), -EINVAL);
	assert_null(g);
	decoder_free(d);
}

static void test_cache_drops_the_least_recently_used(void **state)
{
	static struct fake f;
	const struct graph *got;
	struct graph *g;
	struct graph_cache *c;

	(void)state;
	fake_init(&f);
	fake_work(&f, 100);
	g = build(&f);
	c = graph_cache_new(3 * g->bytes);
	assert_int_equal(graph_cache_add(c, 7, 1, g), 0);
	assert_int_equal(graph_cache_add(c, 7, 2, build(&f)), 0);
	assert_int_equal(graph_cache_add(c, 7, 3, NULL), 0);
	assert_true(graph_cache_find(c, 7, 1, &got));
	assert_ptr_equal(got, g);
	assert_true(graph_cache_find(c, 7, 3, &got));
	assert_null(got);
	assert_int_equal(graph_cache_add(c, 7, 4, build(&f)), 0);
	assert_false(graph_cache_find(c, 7, 2, &got));
	assert_true(graph_cache_find(c, 7, 1, &got));
	assert_true(graph_cache_find(c, 7, 4, &got));
	graph_cache_free(c);
}

/* The limit is one for all JVMs; their codes have the same ids. */
static void test_cache_of_several_jvms(void **state)
{
	static struct fake f;
	const struct graph *got;
	struct graph_cache *c;
	struct graph *g;
	uint32_t one, two;

	(void)state;
	fake_init(&f);
	fake_work(&f, 100);
	g = build(&f);
	c = graph_cache_new(3 * g->bytes);
	one = graph_cache_join(c);
	two = graph_cache_join(c);
	assert_int_equal(graph_cache_add(c, one, 1, g), 0);
	assert_false(graph_cache_find(c, two, 1, &got));
	assert_int_equal(graph_cache_add(c, two, 1, build(&f)), 0);
	assert_true(graph_cache_find(c, one, 1, &got));
	assert_ptr_equal(got, g);
	assert_int_equal(graph_cache_add(c, one, 2, build(&f)), 0);
	assert_false(graph_cache_find(c, two, 1, &got));
	graph_cache_leave(c, two);
	assert_true(graph_cache_find(c, one, 1, &got));
	graph_cache_leave(c, one);
	assert_false(graph_cache_find(c, one, 1, &got));
	assert_false(graph_cache_find(c, one, 2, &got));
	graph_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evidence_of_every_kind),
		cmocka_unit_test(test_fall_through_into_a_trap),
		cmocka_unit_test(test_nested_loops),
		cmocka_unit_test(test_jump_table_is_read),
		cmocka_unit_test(test_orphans_follow_a_jump_without_table),
		cmocka_unit_test(test_patched_entry),
		cmocka_unit_test(test_stubs_are_not_swept),
		cmocka_unit_test(test_refuses_what_it_cannot_decode),
		cmocka_unit_test(test_cache_drops_the_least_recently_used),
		cmocka_unit_test(test_cache_of_several_jvms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
