#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/gone.h"
#include "symbolizer/hotspot/forget.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/target/mem.h"
#include "tests/support/fake_jvm.h"

struct world {
	struct fake_jvm j;
	struct hotspot *hs;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = {0};

	w->j.major = 25;
	fake_jvm_build(&w->j);
	if (hotspot_open(w->j.mem, fake_jvm_symbol, &w->j, &w->hs, &err))
		return -1;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	hotspot_close(w->hs);
	fake_jvm_free(&w->j);
	free(w);
	return 0;
}

static uint32_t walk_to(struct world *w, uint64_t pc)
{
	uint32_t id;

	do {
		hotspot_walk_begin(w->hs);
		id = hs_code_find(w->hs, pc);
	} while (!hotspot_walk_end(w->hs));
	return id;
}

/* Another nmethod comes to stand in the place of the first. */
static uint32_t replace(struct world *w, int32_t compile_id)
{
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &compile_id, 4);
	return walk_to(w, w->j.begin[1] + 16);
}

static void forget(struct world *w, uint32_t kept_code)
{
	hotspot_forget_begin(w->hs);
	if (kept_code)
		hotspot_keep_code(w->hs, kept_code);
	hotspot_forget_end(w->hs);
}

static void code_that_is_gone_goes(void **state)
{
	struct world *w = *state;
	uint32_t old = walk_to(w, w->j.begin[1] + 16), stub = walk_to(w, w->j.begin[3]), now = replace(w, 99);
	uint64_t before = hotspot_stats(w->hs).bytes;

	assert_int_not_equal(old, now);
	forget(w, 0);
	assert_null(hs_code(w->hs, old));
	assert_int_equal(hs_code(w->hs, now)->compile_id, 99);
	assert_non_null(hs_code(w->hs, stub));
	assert_non_null(hs_method(w->hs, hs_code(w->hs, now)->method_id));
	assert_int_equal(walk_to(w, w->j.begin[1] + 16), now);
	assert_int_equal(hotspot_stats(w->hs).forgotten_codes, 1);
	assert_true(hotspot_stats(w->hs).bytes < before);
	/* The first one once more is a third one. */
	assert_true(replace(w, 77) > now);
}

static void code_that_is_named_stays(void **state)
{
	struct world *w = *state;
	uint32_t old = walk_to(w, w->j.begin[1] + 16);
	const struct code *c = hs_code(w->hs, old);
	struct code_scope s[4];
	uint64_t kept;

	assert_int_not_equal(replace(w, 99), old);
	forget(w, old);
	assert_ptr_equal(hs_code(w->hs, old), c);
	assert_int_equal(c->compile_id, 77);
	assert_int_equal(code_scopes_at(c, 25, c->records[0].scope_offset, s, 4), 2);
	assert_string_equal(hs_method(w->hs, s[0].method_id)->name, "inner");
	assert_string_equal(hs_method(w->hs, s[1].method_id)->name, "outer");
	kept = hotspot_kept_bytes(w->hs);
	assert_true(kept > c->n_bytes + c->scopes_len);
	forget(w, 0);
	assert_null(hs_code(w->hs, old));
	assert_true(hotspot_kept_bytes(w->hs) < kept - sizeof(*c));
	/* Ids that mean nothing do no harm. */
	hotspot_forget_begin(w->hs);
	hotspot_keep_code(w->hs, old);
	hotspot_keep_code(w->hs, UINT32_MAX);
	assert_false(hotspot_keep_method(w->hs, UINT32_MAX));
	assert_false(hotspot_keep_method(w->hs, 0));
	hotspot_forget_end(w->hs);
}

static void methods_come_again_with_new_ids(void **state)
{
	struct world *w = *state;
	uint32_t inner = hs_method_find(w->hs, w->j.inner), outer = hs_method_find(w->hs, w->j.outer), again;

	hotspot_forget_begin(w->hs);
	assert_false(hotspot_keeps_method(w->hs, outer));
	assert_true(hotspot_keep_method(w->hs, outer));
	assert_false(hotspot_keep_method(w->hs, outer));
	assert_true(hotspot_keeps_method(w->hs, outer));
	hotspot_forget_end(w->hs);
	assert_null(hs_method(w->hs, inner));
	assert_string_equal(hs_method(w->hs, outer)->name, "outer");
	assert_int_equal(hs_method_find(w->hs, w->j.outer), outer);
	again = hs_method_find(w->hs, w->j.inner);
	assert_true(again > outer);
	assert_string_equal(hs_method(w->hs, again)->class_name, "pkg/Fake");
	assert_string_equal(hs_method(w->hs, again)->name, "inner");
	assert_int_equal(hotspot_stats(w->hs).forgotten_methods, 1);
}

/* Files have taken what the target may cost: nothing new is copied, and what is copied is given back. */
static void copies_take_bytes_of_a_budget(void **state)
{
	struct world *w = *state;
	struct budget none, some;

	budget_init(&none, 0, 0);
	hotspot_set_budget(w->hs, &none);
	assert_int_equal(walk_to(w, w->j.begin[1] + 16), 0);
	budget_init(&some, BUDGET_STEP, 0);
	hotspot_set_budget(w->hs, &some);
	assert_int_not_equal(walk_to(w, w->j.begin[1] + 16), 0);
	assert_int_equal(budget_bytes_left(&some), 0);
	hotspot_close(w->hs);
	w->hs = NULL;
	assert_int_equal(budget_bytes_left(&some), BUDGET_STEP);
}

/* What only the stream told of is asked for by others' ids. */
static void told_code_stays(void **state)
{
	struct world *w = *state;
	uint32_t code = hs_gone_add(w->hs, w->j.begin[1], 64, 4, 3), method = hs_gone_method_add(w->hs);

	forget(w, 0);
	assert_true(hs_code(w->hs, code)->gone);
	assert_true(hs_method(w->hs, method)->gone);
	hs_gone_method_name(w->hs, method, "A", "b", "()V", NULL);
	assert_string_equal(hs_method(w->hs, method)->name, "b");
}

/* A JVM that is sampled for days: what is in its code cache is copied again when it is used again. */
static void unused_code_goes(void **state)
{
	struct world *w = *state;
	uint32_t code = walk_to(w, w->j.begin[1] + 16), stub = walk_to(w, w->j.begin[3]), again;

	forget(w, 0);
	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	forget(w, 0);
	assert_non_null(hs_code(w->hs, code));
	hotspot_forget_unused(w->hs, 1);
	forget(w, code);
	assert_non_null(hs_code(w->hs, code));
	assert_int_equal(walk_to(w, w->j.begin[1] + 16), code);
	forget(w, 0);
	assert_null(hs_code(w->hs, code));
	assert_non_null(hs_code(w->hs, stub));
	again = walk_to(w, w->j.begin[1] + 16);
	assert_true(again > code);
	assert_int_equal(hs_code(w->hs, again)->compile_id, 77);
}

/* There, the bytes of compiled code are copied only on demand, and only while it is still the same. */
static void bytes_come_on_demand(void **state)
{
	struct world *w = *state;
	struct code_scope s[4];
	const struct code *c;
	uint32_t first, next;
	uint8_t there[8];

	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	first = walk_to(w, w->j.begin[1] + 16);
	next = replace(w, 99);
	hs_code_read_rest(w->hs, first);
	assert_int_equal(hs_code(w->hs, first)->n_bytes, 0);
	assert_int_equal(hs_code(w->hs, next)->n_bytes, 0);
	assert_true(hs_bytes_before(w->hs, w->j.begin[1] + 8, there));
	hs_code_read_rest(w->hs, next);
	c = hs_code(w->hs, next);
	assert_int_equal(c->n_bytes, 100);
	assert_memory_equal(c->bytes, there, sizeof(there));
	assert_int_equal(c->compile_id, 99);
	assert_int_equal(code_scopes_at(c, 25, c->records[0].scope_offset, s, 4), 2);
	hs_code_read_rest(w->hs, next);
	hs_code_read_rest(w->hs, UINT32_MAX);
	assert_ptr_equal(hs_code(w->hs, next), c);
	assert_int_equal(walk_to(w, w->j.begin[1] + 16), next);
}

static const char *inlined_at_16(struct world *w, uint32_t code)
{
	const struct code *c = hs_code(w->hs, code);
	struct code_scope s[4];
	const struct hs_method *m;

	assert_int_equal(code_scopes_at(c, 25, c->records[0].scope_offset, s, 4), 2);
	assert_int_equal(s[1].method_id, hs_method_find(w->hs, w->j.outer));
	m = hs_method(w->hs, s[0].method_id);
	return m ? m->name : NULL;
}

/* So are the methods that are inlined in it: at the call that a frame returns to, or all. */
static void methods_come_on_demand(void **state)
{
	struct world *w = *state;
	uint32_t code, other;

	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	code = walk_to(w, w->j.begin[1] + 32); /* nothing is inlined there */
	assert_int_equal(hs_method_count(w->hs), 1);
	assert_null(inlined_at_16(w, code));
	assert_int_equal(walk_to(w, w->j.begin[1] + 17), code); /* no call */
	assert_null(inlined_at_16(w, code));
	assert_int_equal(walk_to(w, w->j.begin[1] + 16), code);
	assert_string_equal(inlined_at_16(w, code), "inner");
	assert_int_equal(hs_method_count(w->hs), 2);
	other = walk_to(w, w->j.begin[2] + 32);
	assert_null(inlined_at_16(w, other));
	hs_code_read_frame(w->hs, other, w->j.begin[2] + 15);
	hs_code_read_frame(w->hs, UINT32_MAX, w->j.begin[2] + 16);
	assert_null(inlined_at_16(w, other));
	hs_code_read_frame(w->hs, other, w->j.begin[2] + 16);
	assert_string_equal(inlined_at_16(w, other), "inner");
	forget(w, 0);
	assert_string_equal(inlined_at_16(w, other), "inner");
	hs_code_read_rest(w->hs, code);
	assert_int_equal(hs_method_count(w->hs), 2);
}

static void all_methods_come_with_the_rest(void **state)
{
	struct world *w = *state;
	uint32_t code;

	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	code = walk_to(w, w->j.begin[1] + 32);
	hs_code_read_rest(w->hs, code);
	assert_string_equal(inlined_at_16(w, code), "inner");
}

/* The inlined method cannot be read, and is the last of the table: its caller stays in the chain. */
static void unreadable_method_keeps_the_chain(void **state)
{
	struct world *w = *state;
	const uint64_t nowhere = 12345;

	fake_jvm_poke(&w->j, w->j.inner + FAKE_METHOD_CONST, &nowhere, sizeof(nowhere));
	assert_null(inlined_at_16(w, walk_to(w, w->j.begin[1] + 16)));
	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	assert_null(inlined_at_16(w, walk_to(w, w->j.begin[2] + 16)));
}

/* What another nmethod has in their place, or nobody any more, is not taken for its methods. */
static void methods_of_code_that_is_gone_stay_unknown(void **state)
{
	struct world *w = *state;
	uint32_t first, next;
	const int32_t compile_id = 99;
	const uint64_t unloaded = 0;

	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	first = walk_to(w, w->j.begin[1] + 32);
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &compile_id, 4);
	hs_code_read_frame(w->hs, first, w->j.begin[1] + 16);
	hs_code_read_rest(w->hs, first);
	assert_null(inlined_at_16(w, first));
	next = walk_to(w, w->j.begin[1] + 32);
	assert_int_not_equal(first, next);
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_METHOD, &unloaded, 8);
	hs_code_read_rest(w->hs, next);
	assert_null(inlined_at_16(w, next));
}

/* The compiled method got another id before its place in the scopes was filled. */
static void root_keeps_its_id(void **state)
{
	struct world *w = *state;
	const struct code *c;
	struct code_scope s[4];
	uint64_t was, other;

	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	c = hs_code(w->hs, walk_to(w, w->j.begin[1] + 17));
	assert_int_not_equal(c->method_id, 0);
	mem_read_u64(w->j.mem, w->j.outer + FAKE_METHOD_CONST, &was);
	mem_read_u64(w->j.mem, w->j.inner + FAKE_METHOD_CONST, &other);
	hotspot_walk_begin(w->hs);
	hs_method_find(w->hs, w->j.outer);
	fake_jvm_poke(&w->j, w->j.outer + FAKE_METHOD_CONST, &other, 8);
	assert_false(hotspot_walk_end(w->hs));
	fake_jvm_poke(&w->j, w->j.outer + FAKE_METHOD_CONST, &was, 8);
	walk_to(w, w->j.begin[1] + 16);
	assert_int_equal(code_scopes_at(c, 25, c->records[0].scope_offset, s, 4), 2);
	assert_int_equal(s[1].method_id, c->method_id);
}

/* What a full budget did not let in is read later. */
static void methods_come_after_a_full_budget(void **state)
{
	struct world *w = *state;
	struct budget none;
	uint32_t code;

	hotspot_forget_unused(w->hs, UINT64_C(3600000000000));
	code = walk_to(w, w->j.begin[1] + 32);
	budget_init(&none, 0, 0);
	hotspot_set_budget(w->hs, &none);
	while (hs_gone_method_add(w->hs))
		;
	hs_code_read_rest(w->hs, code);
	hotspot_set_budget(w->hs, NULL);
	hs_code_read_rest(w->hs, code);
	hs_code_read_rest(w->hs, code);
	assert_non_null(inlined_at_16(w, code));
	assert_string_equal(inlined_at_16(w, code), "inner");
}

/* However many come and go, what is held stays below a bound; nothing is due at the start. */
static void churn_is_bounded(void **state)
{
	enum { ROUNDS = 30000 };
	struct world *w = *state;
	uint64_t most = 0, first = 0;
	unsigned times = 0;

	assert_false(hotspot_forget_due(w->hs));
	for (int32_t i = 0; i < ROUNDS; i++) {
		replace(w, 1000 + i);
		if (hotspot_forget_due(w->hs)) {
			forget(w, 0);
			if (!times++)
				first = hotspot_stats(w->hs).bytes;
		}
		if (hotspot_stats(w->hs).bytes > most)
			most = hotspot_stats(w->hs).bytes;
	}
	assert_true(times > 1);
	forget(w, 0);
	assert_true(hotspot_stats(w->hs).bytes < first + (16 << 10)); /* nor do the tables grow */
	/* 4 MB until the first time, and what a hotspot takes by itself. */
	assert_true(most < 6 << 20);
	assert_int_equal(hotspot_stats(w->hs).codes - hotspot_stats(w->hs).forgotten_codes <= ROUNDS / 2, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_that_is_gone_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_that_is_named_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(methods_come_again_with_new_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(copies_take_bytes_of_a_budget, set_up, tear_down),
		cmocka_unit_test_setup_teardown(told_code_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unused_code_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bytes_come_on_demand, set_up, tear_down),
		cmocka_unit_test_setup_teardown(methods_come_on_demand, set_up, tear_down),
		cmocka_unit_test_setup_teardown(all_methods_come_with_the_rest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unreadable_method_keeps_the_chain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(methods_of_code_that_is_gone_stay_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(root_keeps_its_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(methods_come_after_a_full_budget, set_up, tear_down),
		cmocka_unit_test_setup_teardown(churn_is_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
