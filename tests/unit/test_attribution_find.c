#include "symbolizer/attribution/cache.h"
#include "test_attribution_code.h"

/* aload_0; return */
static const uint8_t no_calls[] = {0x2a, 0xb1};

static struct attributed find(struct fake *f, int64_t pc, int is_return)
{
	struct attribution *a = attribution_new_env(&f->env, ATTRIBUTION_LIMIT_NS, NULL);
	struct attributed ret;

	assert_non_null(a);
	attribution_find(a, &f->code, pc, is_return, &ret);
	attribution_free(a);
	return ret;
}

#define assert_scope(ret, i, id, at)                                                                                   \
	do {                                                                                                           \
		assert_int_equal((ret).scope[i].method_id, id);                                                        \
		assert_int_equal((ret).scope[i].bci, at);                                                              \
	} while (0)

static void set_invoke(uint8_t *code, int bci)
{
	code[bci] = 0xb8; /* invokestatic */
}

/* Prologue, a test with a trap in an inlined method, a return. */
static void test_prologue_belongs_to_the_compiled_method(void **state)
{
	static struct fake f;
	int32_t root, inner;
	struct fake_trap trap;
	struct attributed r;

	(void)state;
	fake_init(&f);
	root = fake_scope(&f, 0, 1, 7);
	inner = fake_scope(&f, root, 2, 3);
	fake_work(&f, 10);
	trap = (struct fake_trap){fake_je(&f), inner};
	fake_work(&f, 10);
	fake_ret(&f);
	fake_traps(&f, &trap, 1);

	r = find(&f, 2, 0);
	assert_int_equal(r.n, 1);
	assert_scope(r, 0, 1, -1);
	r = find(&f, 18, 0);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 2, 3);
	assert_scope(r, 1, 1, 7);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
	r = find(&f, trap.insn, 0);
	assert_scope(r, 0, 2, 3);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE); /* the record is that of the trap's call */
	r = find(&f, fake_here(&f) - 3, 0); /* in the trap call */
	assert_scope(r, 0, 2, 3);
	r = find(&f, trap.insn + 6 + 18, 0); /* right before the return: where the root was seen */
	assert_int_equal(r.n, 1);
	assert_scope(r, 0, 1, 7);
}

static void test_code_without_inlining_is_sure(void **state)
{
	static struct fake f;
	uint32_t body;
	struct attributed r;

	(void)state;
	fake_init(&f);
	fake_bytecodes(&f, 1, no_calls, sizeof(no_calls));
	body = fake_work(&f, 6);
	fake_poll(&f, fake_scope(&f, 0, 1, 1));
	fake_ret(&f);
	r = find(&f, body + 4, 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.exactness, EXACT_FLOW);
}

/* aload_0; invokevirtual; ireturn, and aload_0; getfield; ireturn */
static const uint8_t calls_on[] = {0x2a, 0xb6, 0, 0, 0xac};
static const uint8_t getter[] = {0x2a, 0xb4, 0, 0, 0xac};

/* The receiver of a call is checked by a load that belongs to the callee, here one of a callee. */
static void make_getter(struct fake *f, uint32_t *ret_load)
{
	int32_t root;
	uint32_t handler;

	fake_init(f);
	root = fake_scope(f, 0, 1, 1);
	fake_work(f, 10);
	*ret_load = fake_load(f);
	fake_work(f, 10);
	fake_call(f, FAKE_JAVA, fake_scope(f, 0, 1, 4));
	fake_ret(f);
	handler = fake_work(f, 1);
	fake_call(f, FAKE_TRAP, root);
	f->null_checks[f->code.n_null_checks++] = (struct code_pair){*ret_load, handler};
	fake_bytecodes(f, 1, calls_on, sizeof(calls_on));
	fake_bytecodes(f, 2, calls_on, sizeof(calls_on));
	fake_bytecodes(f, 3, getter, sizeof(getter));
	f->callees[0][1] = 2;
	f->callees[1][1] = 3;
}

static void test_receiver_check_is_the_callee(void **state)
{
	static struct fake f;
	uint32_t load;
	struct attributed r;

	(void)state;
	make_getter(&f, &load);
	r = find(&f, load, 0);
	assert_int_equal(r.n, 3);
	assert_scope(r, 0, 3, 1);
	assert_scope(r, 1, 2, 1);
	assert_scope(r, 2, 1, 1);
	assert_int_not_equal(r.exactness, EXACT);
	r = find(&f, load + 2, 0); /* behind it */
	assert_int_equal(r.n, 3);
	r = find(&f, load - 2, 0); /* in front of it */
	assert_int_equal(r.n, 1);
	f.callees[1][1] = 0;
	assert_int_equal(find(&f, load, 0).n, 2);
	f.callees[0][1] = 0;
	assert_int_equal(find(&f, load, 0).n, 1);
	f.callees[0][1] = 2;
	f.code.tier = TIER_C1_FULL; /* C1 checks in the caller */
	assert_int_equal(find(&f, load, 0).n, 1);
}

/* Evidence of the compiled method alone, before and behind the code asked for. */
static enum exactness between(uint8_t *code, int tier, bool check, int32_t x, int32_t y)
{
	static struct fake f;
	struct fake_trap traps[2];
	uint32_t pc;

	fake_init(&f);
	fake_bytecodes(&f, 1, code, 40);
	f.code.tier = tier;
	if (check)
		traps[0] = (struct fake_trap){fake_je(&f), fake_scope(&f, 0, 1, x)};
	else
		fake_call(&f, FAKE_JAVA, fake_scope(&f, 0, 1, x));
	pc = fake_work(&f, 2);
	traps[1] = (struct fake_trap){fake_je(&f), fake_scope(&f, 0, 1, y)};
	fake_ret(&f);
	fake_traps(&f, traps + !check, 1 + check);
	return find(&f, pc, 0).exactness;
}

static void test_calls_on_the_way_make_it_unsure(void **state)
{
	static uint8_t code[40];

	(void)state;
	assert_int_equal(between(code, TIER_C2, false, 10, 30), EXACT_FLOW);
	set_invoke(code, 10);
	assert_int_equal(between(code, TIER_C2, false, 10, 30), EXACT_FLOW); /* it was called, really */
	/* checked, then inlined? */
	assert_int_equal(between(code, TIER_C2, true, 10, 30), EXACT_APPROXIMATE);
	assert_int_equal(between(code, TIER_C2, true, 10, 10), EXACT_FLOW);
	set_invoke(code, 30);
	assert_int_equal(between(code, TIER_C2, false, 10, 30), EXACT_FLOW);
	set_invoke(code, 20);
	assert_int_equal(between(code, TIER_C2, false, 10, 30), EXACT_APPROXIMATE);
	assert_int_equal(between(code, TIER_C1_FULL, false, 10, 30), EXACT_FLOW);
}

/* C1 inlines getters without a record of their own; the caller's null check is where they begin. */
static void test_c1_hides_getters(void **state)
{
	static struct fake f;
	uint32_t load;

	(void)state;
	make_getter(&f, &load);
	f.code.tier = TIER_C1_FULL;
	assert_int_equal(find(&f, load + 4, 0).exactness, EXACT_APPROXIMATE);
	f.code.n_null_checks = 0;
	assert_int_equal(find(&f, load + 4, 0).exactness, EXACT_FLOW);
}

/* C2 moves the checks of inlined methods about. */
static void test_between_moved_checks_is_unsure(void **state)
{
	static struct fake f;
	struct fake_trap traps[2];
	int32_t root, inner;
	uint32_t checks, polled, called;

	(void)state;
	fake_init(&f);
	fake_bytecodes(&f, 1, no_calls, sizeof(no_calls));
	fake_bytecodes(&f, 2, no_calls, sizeof(no_calls));
	root = fake_scope(&f, 0, 1, 7);
	inner = fake_scope(&f, root, 2, 3);
	fake_call(&f, FAKE_JAVA, inner);
	called = fake_work(&f, 2);
	fake_call(&f, FAKE_JAVA, inner);
	fake_work(&f, 2);
	traps[0] = (struct fake_trap){fake_je(&f), inner};
	checks = fake_work(&f, 2);
	traps[1] = (struct fake_trap){fake_je(&f), inner};
	polled = fake_work(&f, 2);
	fake_poll(&f, inner);
	fake_ret(&f);
	fake_traps(&f, traps, 2);
	assert_int_equal(find(&f, checks, 0).exactness, EXACT_APPROXIMATE);
	assert_int_equal(find(&f, checks, 0).n, 2);
	assert_int_equal(find(&f, polled, 0).exactness, EXACT_FLOW);
	assert_int_equal(find(&f, called, 0).exactness, EXACT_FLOW);
	f.code.tier = TIER_C1_FULL;
	assert_int_equal(find(&f, checks, 0).exactness, EXACT_FLOW);
}

/* A branch around the evidence: what stands before it may belong to where the branch leads. */
static void test_a_way_around_makes_it_unsure(void **state)
{
	static struct fake f;
	struct fake_trap trap;
	int32_t root, inner;
	uint32_t around, before, behind;

	(void)state;
	for (int inlined = 0; inlined < 2; inlined++) {
		fake_init(&f);
		fake_bytecodes(&f, 1, no_calls, sizeof(no_calls));
		root = fake_scope(&f, 0, 1, 0);
		inner = fake_scope(&f, root, 2, 3);
		before = fake_work(&f, 2);
		around = fake_je(&f);
		trap = (struct fake_trap){fake_je(&f), root};
		behind = fake_work(&f, 2);
		fake_bind(&f, around);
		fake_work(&f, 2);
		if (inlined)
			fake_call(&f, FAKE_JAVA, inner);
		fake_ret(&f);
		fake_traps(&f, &trap, 1);
		assert_int_equal(find(&f, before, 0).exactness, inlined ? EXACT_APPROXIMATE : EXACT_FLOW);
		assert_int_equal(find(&f, behind, 0).exactness, inlined ? EXACT_APPROXIMATE : EXACT_FLOW);
	}
}

/* Ways part and meet again before a poll: sure where all of them are the compiled method's. */
static void test_all_ways_round_a_loop(void **state)
{
	static struct fake f;
	struct fake_trap trap;
	int32_t root, inner;
	uint32_t top, around, out;

	(void)state;
	for (int exit_inlined = 0; exit_inlined < 2; exit_inlined++) {
		fake_init(&f);
		fake_bytecodes(&f, 1, no_calls, sizeof(no_calls));
		root = fake_scope(&f, 0, 1, 1);
		inner = fake_scope(&f, root, 2, 3);
		trap = (struct fake_trap){fake_je(&f), root};
		top = fake_work(&f, 2);
		around = fake_je(&f);
		fake_work(&f, 2);
		out = fake_je(&f);
		fake_bind(&f, around);
		fake_poll(&f, root);
		fake_je_to(&f, top);
		fake_bind(&f, out);
		fake_call(&f, FAKE_JAVA, exit_inlined ? inner : root);
		fake_ret(&f);
		fake_traps(&f, &trap, 1);
		assert_int_equal(find(&f, top, 0).n, 1);
		assert_int_equal(find(&f, top, 0).exactness, exit_inlined ? EXACT_APPROXIMATE : EXACT_FLOW);
	}
}

/* Code of the compiled method from its entry to a poll, with a loop that has no evidence. */
static enum exactness before_a_poll(bool padding)
{
	static struct fake f;
	int32_t root;
	uint32_t top, into;

	fake_init(&f);
	fake_bytecodes(&f, 1, no_calls, sizeof(no_calls));
	root = fake_scope(&f, 0, 1, 1);
	fake_work(&f, 2);
	into = fake_jmp(&f);
	if (padding)
		fake_emit(&f, "\x66\x90", 2); /* nobody comes by here */
	top = fake_work(&f, 2);
	fake_bind(&f, into);
	fake_work(&f, 2);
	fake_je_to(&f, top);
	fake_poll(&f, root);
	fake_ret(&f);
	return find(&f, top, 0).exactness;
}

static void test_padding_leads_nowhere(void **state)
{
	(void)state;
	assert_int_equal(before_a_poll(false), EXACT_FLOW);
	assert_int_equal(before_a_poll(true), EXACT_FLOW);
}

/* Two checks of the compiled method with code between them; their traps have these requests. */
static enum exactness between_traps(int32_t first, int32_t second, bool own)
{
	static struct fake f;
	const int32_t requests[2] = {first, second};
	struct fake_trap traps[2];
	uint32_t between;
	int32_t root;

	fake_init(&f);
	fake_bytecodes(&f, 1, no_calls, sizeof(no_calls));
	root = fake_scope(&f, 0, 1, 1);
	traps[0] = (struct fake_trap){fake_je(&f), root};
	between = fake_work(&f, 2);
	traps[1] = (struct fake_trap){fake_je(&f), root};
	fake_work(&f, 2);
	fake_call(&f, FAKE_JAVA, root);
	fake_ret(&f);
	fake_requested_traps(&f, traps, requests, 2);
	return find(&f, own ? traps[1].insn : between, 0).exactness;
}

/* C2 does checks of inlined methods before the loop they are in, with the state of the loop's entry. */
static void test_checks_before_a_loop_are_unsure(void **state)
{
	(void)state;
	assert_int_equal(between_traps(0, 0, false), EXACT_FLOW);
	assert_int_equal(between_traps(FAKE_REQUEST_BRANCH, FAKE_REQUEST_BRANCH, false), EXACT_FLOW);
	assert_int_equal(between_traps(FAKE_REQUEST_BRANCH, FAKE_REQUEST_BRANCH, true), EXACT_FLOW);
	assert_int_equal(between_traps(FAKE_REQUEST_LOOP, 0, false), EXACT_APPROXIMATE);
	assert_int_equal(between_traps(0, FAKE_REQUEST_LOOP, false), EXACT_APPROXIMATE);
	assert_int_equal(between_traps(0, FAKE_REQUEST_LOOP, true), EXACT_APPROXIMATE);
}

/* An implicit null check of the compiled method; what it was left to may be an access of somebody else. */
static enum exactness at_null_check(const uint8_t *bytecodes, int32_t request)
{
	static struct fake f;
	uint32_t load, handler;
	int32_t root;

	fake_init(&f);
	fake_bytecodes(&f, 1, bytecodes, 40);
	root = fake_scope(&f, 0, 1, 1);
	fake_work(&f, 2);
	fake_call(&f, FAKE_JAVA, root);
	load = fake_load(&f);
	fake_work(&f, 2);
	fake_call(&f, FAKE_JAVA, root);
	fake_ret(&f);
	handler = fake_request(&f, request);
	fake_call(&f, FAKE_TRAP, root);
	f.null_checks[f.code.n_null_checks++] = (struct code_pair){load, handler};
	return find(&f, load, 0).exactness;
}

static void test_null_checks_left_to_others(void **state)
{
	static const uint8_t field[40] = {0x2a, 0xb4}, call[40] = {0x2a, 0xb6};

	(void)state;
	assert_int_equal(at_null_check(field, -1), EXACT_FLOW);
	assert_int_equal(at_null_check(field, FAKE_REQUEST_BRANCH), EXACT_APPROXIMATE);
	assert_int_equal(at_null_check(field, FAKE_REQUEST_LOOP), EXACT_APPROXIMATE);
	assert_int_equal(at_null_check(call, -1), EXACT_APPROXIMATE); /* of a callee that is not known */
}

/* The only evidence of a loop: its whole body lies between it and itself. */
static void test_one_evidence_of_a_loop_leaves_room(void **state)
{
	static struct fake f;
	static uint8_t code[40];
	struct fake_trap trap;
	uint32_t top;

	(void)state;
	fake_init(&f);
	fake_bytecodes(&f, 1, code, sizeof(code));
	top = fake_work(&f, 2);
	trap = (struct fake_trap){fake_je(&f), fake_scope(&f, 0, 1, 30)};
	fake_work(&f, 2);
	fake_je_to(&f, top);
	fake_ret(&f);
	fake_traps(&f, &trap, 1);
	assert_int_equal(find(&f, top, 0).exactness, EXACT_FLOW);
	set_invoke(code, 12);
	assert_int_equal(find(&f, top, 0).exactness, EXACT_APPROXIMATE);
}

/* A loop of its own around code that two traps of the same inlined method guard. */
static void test_loop_takes_nearest_inside(void **state)
{
	static struct fake f;
	int32_t root, inner, other;
	struct fake_trap traps[2];
	uint32_t top, mid, late;
	struct attributed r;

	(void)state;
	fake_init(&f);
	root = fake_scope(&f, 0, 1, 7);
	inner = fake_scope(&f, root, 2, 3);
	other = fake_scope(&f, root, 3, 9);
	fake_call(&f, FAKE_JAVA, root);
	top = fake_here(&f);
	traps[0] = (struct fake_trap){fake_je(&f), inner};
	mid = fake_work(&f, 4);
	late = fake_work(&f, 4);
	traps[1] = (struct fake_trap){fake_je(&f), other};
	fake_je_to(&f, top);
	fake_call(&f, FAKE_JAVA, root);
	fake_ret(&f);
	fake_traps(&f, traps, 2);

	r = find(&f, mid, 0);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 2, 3);
	r = find(&f, late + 6, 0);
	assert_scope(r, 0, 3, 9);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
}

/* Of two ends that are equally near, the one at the lower address is taken, whichever of the ways there is a jump. */
static void test_nearest_before_a_join(void **state)
{
	static struct fake f;
	int32_t root, first, second;
	uint32_t away, join;
	struct attributed r;

	(void)state;
	fake_init(&f);
	root = fake_scope(&f, 0, 1, 7);
	first = fake_scope(&f, root, 2, 3);
	second = fake_scope(&f, root, 3, 9);
	away = fake_je(&f);
	fake_call(&f, FAKE_JAVA, first);
	join = fake_work(&f, 6);
	fake_ret(&f);
	fake_bind(&f, away);
	fake_je_to(&f, join);
	fake_call(&f, FAKE_TRAP, second);

	r = find(&f, join, 0);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 2, 3);
}

/* An inner loop without evidence between different methods: what they have in common. */
static void make_blind_loop(struct fake *f, uint32_t *ret_inner)
{
	int32_t x = fake_scope(f, 0, 1, 10), y = fake_scope(f, 0, 1, 30);
	int32_t a = fake_scope(f, x, 2, 3), b = fake_scope(f, y, 3, 9);
	struct fake_trap traps[2];
	uint32_t top, inner;

	fake_work(f, 4);
	top = fake_here(f);
	traps[0] = (struct fake_trap){fake_je(f), a};
	inner = fake_work(f, 8);
	fake_je_to(f, inner);
	traps[1] = (struct fake_trap){fake_je(f), b};
	fake_je_to(f, top);
	fake_ret(f);
	fake_traps(f, traps, 2);
	*ret_inner = inner;
}

static void test_blind_loop_is_the_common_ancestor(void **state)
{
	static struct fake f;
	uint32_t inner;
	struct attributed r;

	(void)state;
	fake_init(&f);
	make_blind_loop(&f, &inner);
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.scope[0].method_id, 1);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
}

/* goto -3 */
static const uint8_t looping[] = {0, 0, 0, 0xa7, 0xff, 0xfd};

static void test_blind_loop_goes_to_the_one_hidden_callee(void **state)
{
	static struct fake f;
	static uint8_t code[64];
	uint32_t inner;
	struct attributed r;

	(void)state;
	fake_init(&f);
	memset(code, 0, sizeof(code));
	make_blind_loop(&f, &inner);
	set_invoke(code, 10);
	set_invoke(code, 20);
	set_invoke(code, 24);
	set_invoke(code, 30);
	fake_bytecodes(&f, 1, code, sizeof(code));
	fake_bytecodes(&f, 4, looping, sizeof(looping));
	fake_bytecodes(&f, 5, no_calls, sizeof(no_calls));
	f.callees[0][20] = 4;
	f.callees[0][24] = 5; /* no loop in it */
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 4, -1);
	assert_scope(r, 1, 1, 20);
	assert_int_equal(r.exactness, EXACT_INFERRED);

	f.callees[0][24] = 4; /* two that loop */
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 1);
	f.callees[0][24] = 0; /* one that is not known */
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
}

/* What was asked while the JVM lived is known when it has ended. */
static void test_prepared_code_needs_no_jvm(void **state)
{
	static struct fake f;
	static uint8_t code[64];
	struct attribution *a;
	struct attributed r;
	uint32_t inner;

	(void)state;
	fake_init(&f);
	memset(code, 0, sizeof(code));
	make_blind_loop(&f, &inner);
	set_invoke(code, 20);
	fake_bytecodes(&f, 1, code, sizeof(code));
	fake_bytecodes(&f, 4, looping, sizeof(looping));
	f.callees[0][20] = 4;
	a = attribution_new_env(&f.env, ATTRIBUTION_LIMIT_NS, NULL);
	assert_non_null(a);
	attribution_prepare(a, &f.code, inner + 2, 0);
	attribution_prepare(a, &f.code, inner + 2, 0);
	memset(f.callees, 0, sizeof(f.callees));
	attribution_find(a, &f.code, inner + 2, 0, &r);
	attribution_free(a);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 4, -1);
	assert_int_equal(find(&f, inner + 2, 0).n, 1);
}

/* The pc of a caller has a record; its graph is built once a pc without one is sampled. */
static void test_callers_need_no_graph(void **state)
{
	static struct fake f;
	struct graph_cache *c = graph_cache_new(1 << 20);
	const struct graph *g;
	struct attribution *a;
	struct attributed r;
	uint32_t inner;
	int64_t pc;

	(void)state;
	fake_init(&f);
	make_blind_loop(&f, &inner);
	pc = f.code.records[0].pc_offset;
	a = attribution_new_env(&f.env, ATTRIBUTION_LIMIT_NS, c);
	attribution_prepare(a, &f.code, pc, 1);
	attribution_find(a, &f.code, pc, 1, &r);
	assert_int_equal(r.exactness, EXACT);
	assert_false(graph_cache_find(c, 1, f.code.id, &g));
	attribution_prepare(a, &f.code, inner + 2, 0);
	assert_true(graph_cache_find(c, 1, f.code.id, &g));
	attribution_free(a);
	graph_cache_free(c);
}

/* The checks of the method that loops lie before the loop, its polls behind it. */
static void test_blind_loop_goes_to_the_one_visible_callee(void **state)
{
	static struct fake f;
	static uint8_t code[64];
	uint32_t inner;
	struct attributed r;

	(void)state;
	fake_init(&f);
	memset(code, 0, sizeof(code));
	make_blind_loop(&f, &inner);
	set_invoke(code, 10);
	set_invoke(code, 20);
	set_invoke(code, 30);
	fake_bytecodes(&f, 1, code, sizeof(code));
	fake_bytecodes(&f, 2, no_calls, sizeof(no_calls));
	fake_bytecodes(&f, 3, looping, sizeof(looping));
	fake_bytecodes(&f, 5, no_calls, sizeof(no_calls));
	f.callees[0][20] = 5; /* hidden, but no loop in it */
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 3, -1);
	assert_scope(r, 1, 1, 30);
	assert_int_equal(r.exactness, EXACT_INFERRED);

	fake_bytecodes(&f, 2, looping, sizeof(looping)); /* both ends loop */
	assert_int_equal(find(&f, inner + 2, 0).n, 1);
	fake_bytecodes(&f, 2, no_calls, sizeof(no_calls));
	fake_bytecodes(&f, 5, looping, sizeof(looping)); /* a hidden one, too */
	assert_int_equal(find(&f, inner + 2, 0).n, 1);
}

/* What the visible method calls in its loop would be seen, were it compiled: a trap is there instead. */
static void test_blind_loop_has_no_call_left_out(void **state)
{
	/* goto -3 behind a call; daload, dadd; dadd in a loop */
	static const uint8_t calling[] = {0xb8, 0, 0, 0xa7, 0xff, 0xfd};
	static const uint8_t arrays[] = {49, 99, 0xb1}, no_arrays[] = {99, 99, 0xb1};
	static const uint8_t adding[] = {99, 0, 0, 0xa7, 0xff, 0xfd};
	static struct fake f;
	static uint8_t code[64];
	uint32_t top, inner;
	struct fake_trap traps[2];
	struct attributed r;

	(void)state;
	fake_init(&f);
	memset(code, 0, sizeof(code));
	fake_work(&f, 4);
	top = fake_here(&f);
	traps[0] = (struct fake_trap){fake_je(&f), fake_scope(&f, fake_scope(&f, 0, 1, 10), 2, 3)};
	inner = fake_work(&f, 8);
	fake_emit(&f, "\xf2\x0f\x58\xc1", 4); /* addsd */
	fake_je_to(&f, inner);
	traps[1] = (struct fake_trap){fake_je(&f), fake_scope(&f, fake_scope(&f, 0, 1, 30), 3, 4)};
	fake_je_to(&f, top);
	fake_ret(&f);
	fake_traps(&f, traps, 2);
	set_invoke(code, 10);
	set_invoke(code, 20);
	set_invoke(code, 30);
	fake_bytecodes(&f, 1, code, sizeof(code));
	fake_bytecodes(&f, 2, no_calls, sizeof(no_calls));
	fake_bytecodes(&f, 3, calling, sizeof(calling));
	fake_bytecodes(&f, 4, adding, sizeof(adding));
	fake_bytecodes(&f, 5, arrays, sizeof(arrays));
	f.callees[0][20] = 4;
	f.callees[2][0] = 5;
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 2);
	assert_scope(r, 0, 4, -1);
	assert_scope(r, 1, 1, 20);
	assert_int_equal(r.exactness, EXACT_INFERRED);

	fake_bytecodes(&f, 5, no_arrays, sizeof(no_arrays)); /* may leave no record */
	assert_int_equal(find(&f, inner + 2, 0).n, 1);
}

/* A native may be an intrinsic's loop, but has no frames anywhere else either. */
static void test_blind_loop_is_not_given_to_a_native(void **state)
{
	static struct fake f;
	static uint8_t code[64];
	uint32_t inner;

	(void)state;
	fake_init(&f);
	memset(code, 0, sizeof(code));
	make_blind_loop(&f, &inner);
	set_invoke(code, 20);
	fake_bytecodes(&f, 1, code, sizeof(code));
	f.methods[3].id = 4;
	f.callees[0][20] = 4;
	assert_int_equal(find(&f, inner + 2, 0).n, 1);
}

static void test_own_loop_is_not_given_to_a_callee(void **state)
{
	static struct fake f;
	static uint8_t code[64];
	uint32_t inner;
	struct attributed r;

	(void)state;
	fake_init(&f);
	memset(code, 0, sizeof(code));
	make_blind_loop(&f, &inner);
	set_invoke(code, 20);
	memcpy(code + 25, "\xa7\xff\xfa", 3); /* goto 19 */
	fake_bytecodes(&f, 1, code, sizeof(code));
	fake_bytecodes(&f, 4, looping, sizeof(looping));
	f.callees[0][20] = 4;
	r = find(&f, inner + 2, 0);
	assert_int_equal(r.n, 1);
}

static void test_return_addresses(void **state)
{
	static struct fake f;
	int32_t root, a, b;
	uint32_t call, leaf;
	struct attributed r;

	(void)state;
	fake_init(&f);
	root = fake_scope(&f, 0, 1, 7);
	a = fake_scope(&f, root, 2, 3);
	b = fake_scope(&f, root, 3, 9);
	fake_work(&f, 20);
	call = fake_call(&f, FAKE_JAVA, a);
	leaf = fake_call(&f, FAKE_LEAF, 0);
	fake_work(&f, 8);
	fake_call(&f, FAKE_JAVA, b);
	fake_work(&f, 20);
	fake_ret(&f);
	r = find(&f, call + 5, 1);
	assert_scope(r, 0, 2, 3);
	assert_int_equal(r.exactness, EXACT);
	/* the leaf call follows the first call at once */
	r = find(&f, leaf + 5, 1);
	assert_scope(r, 0, 2, 3);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
}

static void test_extra_records(void **state)
{
	static struct fake f;
	int32_t root, wrong, right;
	uint32_t body;
	struct attributed r;

	(void)state;
	fake_init(&f);
	root = fake_scope(&f, 0, 1, 7);
	wrong = fake_scope(&f, root, 2, 3);
	right = fake_scope(&f, root, 3, 9);
	body = fake_work(&f, 10);
	fake_record(&f, body + 10, wrong, false);
	fake_work(&f, 1);
	fake_call(&f, FAKE_JAVA, right);
	fake_ret(&f);
	r = find(&f, body + 18, 0);
	assert_scope(r, 0, 3, 9);
	r = find(&f, body + 9, 0);
	assert_int_not_equal(r.scope[0].method_id, 2); /* C2: not trusted */
	f.code.tier = TIER_C1_FULL;
	r = find(&f, body + 9, 0);
	assert_scope(r, 0, 2, 3);
	assert_int_equal(r.exactness, EXACT_FLOW);
}

static void test_falls_back_without_bytes(void **state)
{
	static struct fake f;
	int32_t root;
	struct attributed r;

	(void)state;
	fake_init(&f);
	root = fake_scope(&f, 0, 1, 7);
	fake_work(&f, 10);
	fake_call(&f, FAKE_JAVA, fake_scope(&f, root, 2, 3));
	f.code.n_bytes = 0;
	f.code.bytes = NULL;
	r = find(&f, 4, 0);
	assert_scope(r, 0, 2, 3);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
	r = find(&f, 4000, 0); /* behind every record: the last one */
	assert_scope(r, 0, 2, 3);
	f.code.n_records = 0;
	r = find(&f, 4, 0);
	assert_int_equal(r.n, 1);
	assert_scope(r, 0, 1, -1);
}

static void test_other_blobs(void **state)
{
	static struct fake f;
	struct attributed r;

	(void)state;
	fake_init(&f);
	f.code.kind = BLOB_NATIVE;
	r = find(&f, 3, 1);
	assert_int_equal(r.n, 1);
	assert_scope(r, 0, 1, -1);
	f.code.kind = BLOB_STUBS;
	assert_int_equal(find(&f, 3, 0).n, 0);
}

static void test_foreign_chains_are_not_used(void **state)
{
	static struct fake f;
	struct attributed r;

	(void)state;
	fake_init(&f);
	fake_work(&f, 10);
	fake_call(&f, FAKE_JAVA, fake_scope(&f, 0, 2, 3)); /* its outermost method is another */
	fake_ret(&f);
	r = find(&f, 4, 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.scope[0].method_id, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologue_belongs_to_the_compiled_method),
		cmocka_unit_test(test_code_without_inlining_is_sure),
		cmocka_unit_test(test_receiver_check_is_the_callee),
		cmocka_unit_test(test_loop_takes_nearest_inside),
		cmocka_unit_test(test_nearest_before_a_join),
		cmocka_unit_test(test_blind_loop_is_the_common_ancestor),
		cmocka_unit_test(test_blind_loop_goes_to_the_one_hidden_callee),
		cmocka_unit_test(test_prepared_code_needs_no_jvm),
		cmocka_unit_test(test_callers_need_no_graph),
		cmocka_unit_test(test_blind_loop_goes_to_the_one_visible_callee),
		cmocka_unit_test(test_blind_loop_has_no_call_left_out),
		cmocka_unit_test(test_calls_on_the_way_make_it_unsure),
		cmocka_unit_test(test_c1_hides_getters),
		cmocka_unit_test(test_between_moved_checks_is_unsure),
		cmocka_unit_test(test_a_way_around_makes_it_unsure),
		cmocka_unit_test(test_blind_loop_is_not_given_to_a_native),
		cmocka_unit_test(test_all_ways_round_a_loop),
		cmocka_unit_test(test_padding_leads_nowhere),
		cmocka_unit_test(test_checks_before_a_loop_are_unsure),
		cmocka_unit_test(test_null_checks_left_to_others),
		cmocka_unit_test(test_one_evidence_of_a_loop_leaves_room),
		cmocka_unit_test(test_own_loop_is_not_given_to_a_callee),
		cmocka_unit_test(test_return_addresses),
		cmocka_unit_test(test_extra_records),
		cmocka_unit_test(test_falls_back_without_bytes),
		cmocka_unit_test(test_other_blobs),
		cmocka_unit_test(test_foreign_chains_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
