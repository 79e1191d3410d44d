#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/roles.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hs_arch.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "tests/support/fake_jvm.h"

struct world {
	struct fake_jvm j;
	struct hotspot *hs;
};

static int set_up(void **state, int major)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = {0};

	w->j.major = major;
	fake_jvm_build(&w->j);
	if (hotspot_open(w->j.mem, fake_jvm_symbol, &w->j, &w->hs, &err))
		return -1;
	*state = w;
	return 0;
}

static int set_up_8(void **state)
{
	return set_up(state, 8);
}

static int set_up_11(void **state)
{
	return set_up(state, 11);
}

static int set_up_17(void **state)
{
	return set_up(state, 17);
}

static int set_up_25(void **state)
{
	return set_up(state, 25);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	hotspot_close(w->hs);
	fake_jvm_free(&w->j);
	free(w);
	return 0;
}

static const struct code *code_at(struct world *w, uint64_t pc)
{
	return hs_code(w->hs, hs_code_find(w->hs, pc));
}

static void finds_every_blob(void **state)
{
	const enum blob_kind kinds[] = {BLOB_INTERPRETER, BLOB_NMETHOD, BLOB_NMETHOD, BLOB_STUBS};
	struct world *w = *state;

	for (int i = 0; i < 4; i++) {
		uint64_t begin = w->j.begin[i], end = w->j.end[i];
		uint32_t id = hs_code_find(w->hs, begin);

		assert_int_not_equal(id, 0);
		assert_int_equal(hs_code(w->hs, id)->kind, kinds[i]);
		assert_int_equal(hs_code(w->hs, id)->blob, w->j.blob[i]);
		assert_int_equal(hs_code_find(w->hs, begin + (end - begin) / 2), id);
		assert_int_equal(hs_code_find(w->hs, end - 1), id);
		assert_int_equal(hs_code_find(w->hs, end), 0);
		assert_int_equal(hs_code_find(w->hs, begin - 1), 0);
	}
	assert_int_equal(hs_code_count(w->hs), 4);
	/* A free segment, and what is not in the code cache. */
	assert_int_equal(hs_code_find(w->hs, w->j.heap_low + (700 << FAKE_SEGMENT)), 0);
	assert_int_equal(hs_code_find(w->hs, w->j.heap_low - 1), 0);
	assert_int_equal(hs_code_find(w->hs, 0), 0);
}

static void scope_is(struct world *w, const struct code_scope *s, const char *name, int32_t bci)
{
	assert_string_equal(hs_method(w->hs, s->method_id)->name, name);
	assert_int_equal(s->bci, bci);
}

static void copies_an_nmethod(void **state)
{
	struct world *w = *state;
	const struct code *c = code_at(w, w->j.begin[1] + 40);
	struct code_scope s[4];

	assert_int_equal(c->compile_id, 77);
	assert_int_equal(c->tier, TIER_C2);
	assert_int_equal(c->frame_size, 4);
	assert_int_equal(c->frame_complete, 12);
	assert_int_equal(c->verified_entry, 4);
	assert_int_equal(c->deopt_handler, 90);
	assert_int_equal(c->osr_bci, -1);
	assert_int_equal(c->n_bytes, 100);
	assert_string_equal(c->name, "nmethod");
	assert_string_equal(hs_method(w->hs, c->method_id)->name, "outer");

	assert_int_equal(c->n_records, 3);
	assert_int_equal(c->n_extra_records, 1);
	assert_int_equal(c->records[0].pc_offset, 16);
	assert_true(c->records[0].safepoint);
	assert_false(c->records[1].safepoint);
	assert_true(c->records[2].safepoint);
	assert_int_equal(code_scopes_at(c, w->j.major, c->records[0].scope_offset, s, 4), 2);
	scope_is(w, &s[0], "inner", 2);
	scope_is(w, &s[1], "outer", 4);
	assert_int_equal(code_scopes_at(c, w->j.major, c->records[2].scope_offset, s, 4), 1);
	scope_is(w, &s[0], "outer", -1);

	assert_int_equal(c->n_null_checks, 2);
	assert_int_equal(c->null_checks[1].from, 24);
	assert_int_equal(c->null_checks[1].to, 72);
	assert_int_equal(c->n_handlers, 1);
	assert_int_equal(c->handlers[0], 48);
}

static void names_a_method(void **state)
{
	struct world *w = *state;
	const struct hs_method *m = hs_method(w->hs, hs_method_find(w->hs, w->j.inner));

	assert_string_equal(m->class_name, "pkg/Fake");
	assert_string_equal(m->name, "inner");
	assert_string_equal(m->signature, "()Ljava/lang/String;");
	assert_string_equal(m->source_file, "Fake.java");
	assert_int_equal(m->access_flags, 1);
	assert_int_equal(m->code_size, 10);
	assert_int_equal(m->max_locals, 3);
	assert_int_equal(m->max_stack, 5);
	assert_int_equal(m->bytecodes[9], 0x2a);
	assert_int_equal(hs_method_line(w->hs, m, -1), 7);
	assert_int_equal(hs_method_line(w->hs, m, 4), 7);
	assert_int_equal(hs_method_line(w->hs, m, 5), 9);
	assert_int_equal(hs_method_bci(m, m->code_base + 9), 9);
	assert_int_equal(hs_method_bci(m, m->code_base + 10), -1);
	assert_int_equal(hs_method_bci(m, m->code_base - 1), -1);
	assert_int_equal(hs_method_find(w->hs, w->j.inner), m->id);
}

/* Addresses that are no Methods, among them one whose pool is too short for its name. */
static void refuses_garbage_methods(void **state)
{
	struct world *w = *state;
	uint64_t cm, pool;
	uint32_t length = 1;

	assert_int_equal(hs_method_find(w->hs, 0), 0);
	assert_int_equal(hs_method_find(w->hs, 3), 0);
	assert_int_equal(hs_method_find(w->hs, w->j.inner + 1), 0);
	assert_int_equal(hs_method_find(w->hs, w->j.inner + 8), 0);
	assert_int_equal(hs_method_find(w->hs, UINT64_MAX - 7), 0);
	assert_int_equal(hs_method_find(w->hs, w->j.segmap), 0);
	memcpy(&cm, w->j.data + (w->j.inner + FAKE_METHOD_CONST) % FAKE_REGION, 8);
	memcpy(&pool, w->j.data + (cm + 16) % FAKE_REGION, 8);
	fake_jvm_poke(&w->j, pool + FAKE_POOL_LENGTH, &length, 4);
	assert_int_equal(hs_method_find(w->hs, w->j.inner), 0);
	assert_int_equal(hs_method_count(w->hs), 0);
	assert_true(hotspot_stats(w->hs).bad_methods >= 4);
}

static void names_stubs_and_codelets(void **state)
{
	struct world *w = *state;
	const struct code *stubs = code_at(w, w->j.begin[3]), *interp = code_at(w, w->j.interp);
	uint64_t entry = w->j.codelet[0] - interp->begin;

	assert_string_equal(hs_stub_name(w->hs, stubs, 0), "StubRoutines (1)");
	assert_string_equal(hs_stub_name(w->hs, stubs, 7), "StubRoutines (1)");
	assert_string_equal(hs_stub_name(w->hs, stubs, 8), "call_stub");
	assert_string_equal(hs_stub_name(w->hs, stubs, 30), "call_stub");
	assert_string_equal(hs_stub_name(w->hs, stubs, 64), "jint_disjoint_arraycopy");
	assert_string_equal(hs_stub_name(w->hs, stubs, 127), "jint_disjoint_arraycopy");
	assert_string_equal(hs_stub_name(w->hs, stubs, 128), "jint_fill");
	assert_string_equal(hs_stub_name(w->hs, interp, 300), "iadd");
	assert_int_equal(hs_call_stub_return(w->hs), w->j.begin[3] + 30);
	assert_string_equal(hs_stub_name(w->hs, interp, entry), "method entry point (kind = native)");
	assert_string_equal(hs_stub_name(w->hs, interp, entry + 255), "method entry point (kind = native)");
	assert_string_equal(hs_stub_name(w->hs, interp, entry + 256), "iadd");
	assert_string_equal(hs_stub_name(w->hs, interp, 600), interp->name);
	assert_int_equal(hs_codelet_role(w->hs, w->j.codelet[0] + 100), STUB_METHOD_ENTRY);
	assert_int_equal(hs_codelet_role(w->hs, w->j.codelet[0] + 256), STUB_OTHER);
	assert_int_equal(hs_codelet_role(w->hs, w->j.interp + 600), STUB_OTHER);
	assert_int_equal(hs_codelet_role(w->hs, w->j.interp - 1), STUB_OTHER);
	assert_true(hs_in_interpreter(w->hs, w->j.interp + 600));
	assert_int_equal(hs_code_role(w->hs, w->j.begin[3] + 64), ROLE_LEAF);
	assert_int_equal(hs_code_role(w->hs, w->j.begin[1]), ROLE_NONE);
}

/* An nmethod that is replaced is noticed at the end of the walk, and named right from then on. */
static void notices_a_replaced_nmethod(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->j.begin[1] + 16;
	int32_t compile_id = 99;
	uint8_t not_entrant = w->j.major == 8 ? 1 : 2;
	uint32_t old, now;

	hotspot_walk_begin(w->hs);
	old = hs_code_find(w->hs, pc);
	assert_true(hotspot_walk_end(w->hs));

	hotspot_walk_begin(w->hs);
	assert_int_equal(hs_code_find(w->hs, pc), old);
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_STATE, &not_entrant, 1);
	assert_true(hotspot_walk_end(w->hs));

	hotspot_walk_begin(w->hs);
	assert_int_equal(hs_code_find(w->hs, pc), old);
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &compile_id, 4);
	assert_false(hotspot_walk_end(w->hs));
	hotspot_walk_begin(w->hs);
	now = hs_code_find(w->hs, pc);
	assert_true(hotspot_walk_end(w->hs));
	assert_int_not_equal(now, old);
	assert_int_equal(hs_code(w->hs, now)->compile_id, 99);
	assert_int_equal(hs_code(w->hs, old)->compile_id, 77);
	assert_int_equal(hotspot_stats(w->hs).replaced, 1);
}

/* One check serves all samples taken before it; a later sample needs its own. */
static void checks_once_for_a_batch(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->j.begin[1] + 16;
	int32_t compile_id = 99;
	uint32_t old;

	hotspot_walk_times(w->hs, 100, 200);
	hotspot_walk_begin(w->hs);
	old = hs_code_find(w->hs, pc);
	assert_true(hotspot_walk_end(w->hs));
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &compile_id, 4);

	hotspot_walk_times(w->hs, 199, 200);
	hotspot_walk_begin(w->hs);
	assert_int_equal(hs_code_find(w->hs, pc), old);
	assert_true(hotspot_walk_end(w->hs));

	hotspot_walk_times(w->hs, 201, 300);
	hotspot_walk_begin(w->hs);
	assert_int_equal(hs_code_find(w->hs, pc), old);
	assert_false(hotspot_walk_end(w->hs));
}

static void notices_a_freed_nmethod(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->j.begin[1] + 16;
	uint8_t used = 0;
	uint32_t old = hs_code_find(w->hs, pc);

	hotspot_walk_begin(w->hs);
	assert_int_equal(hs_code_find(w->hs, pc), old);
	fake_jvm_poke(&w->j, w->j.block[1] + FAKE_USED, &used, 1);
	assert_false(hotspot_walk_end(w->hs));
	assert_int_equal(hs_code_find(w->hs, pc), 0);
	used = 1;
	fake_jvm_poke(&w->j, w->j.block[1] + FAKE_USED, &used, 1);
	assert_int_equal(hs_code_find(w->hs, pc), old);
}

static void notices_a_replaced_method(void **state)
{
	struct world *w = *state;
	uint32_t id;
	uint64_t const_method;

	hotspot_walk_begin(w->hs);
	id = hs_method_find(w->hs, w->j.inner);
	assert_true(hotspot_walk_end(w->hs));
	memcpy(&const_method, w->j.data + (w->j.outer + FAKE_METHOD_CONST) % FAKE_REGION, 8);
	hotspot_walk_begin(w->hs);
	assert_int_equal(hs_method_find(w->hs, w->j.inner), id);
	fake_jvm_poke(&w->j, w->j.inner + FAKE_METHOD_CONST, &const_method, 8);
	assert_false(hotspot_walk_end(w->hs));
	assert_int_not_equal(hs_method_find(w->hs, w->j.inner), id);
	assert_string_equal(hs_method(w->hs, hs_method_find(w->hs, w->j.inner))->name, "outer");
	assert_string_equal(hs_method(w->hs, id)->name, "inner");
}

/* What is not installed yet has no name. */
static void refuses_an_unfinished_nmethod(void **state)
{
	struct world *w = *state;
	int8_t st = -1;

	fake_jvm_poke(&w->j, w->j.blob[2] + FAKE_NM_STATE, &st, 1);
	assert_int_equal(hs_code_find(w->hs, w->j.begin[2]), 0);
	assert_int_equal(hotspot_stats(w->hs).bad_blobs, 1);
}

/* In 8 the bci of an OSR method goes when it is made not entrant; activations stay. */
static void knows_an_osr_method_that_is_left(void **state)
{
	struct world *w = *state;
	int32_t bci = -2;

	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_BCI, &bci, 4);
	assert_string_equal(hs_method(w->hs, code_at(w, w->j.begin[1])->method_id)->name, "outer");
	assert_int_equal(code_at(w, w->j.begin[1])->osr_bci, CODE_OSR_LEFT);
	bci = -3;
	fake_jvm_poke(&w->j, w->j.blob[2] + FAKE_NM_BCI, &bci, 4);
	assert_int_equal(hs_code_find(w->hs, w->j.begin[2]), 0);
}

/* A zombie's frame can be left, but its Method*s may be another class's by now. */
static void knows_no_methods_of_a_dead_nmethod(void **state)
{
	struct world *w = *state;
	uint8_t zombie = w->j.major == 8 ? 2 : 3, not_entrant = zombie - 1;
	const struct code *c;

	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_STATE, &zombie, 1);
	fake_jvm_poke(&w->j, w->j.blob[2] + FAKE_NM_STATE, &not_entrant, 1);
	c = code_at(w, w->j.begin[1]);
	assert_int_equal(c->frame_size, 4);
	assert_int_equal(c->method_id != 0, w->j.major >= 20);
	assert_int_equal(c->n_methods != 0, w->j.major >= 20);
	assert_int_not_equal(code_at(w, w->j.begin[2])->method_id, 0);
}

static void knows_threads(void **state)
{
	struct world *w = *state;
	const struct hs_thread *t = hs_thread_find(w->hs, 1001);
	struct hs_anchor a;
	char name[64];

	assert_non_null(t);
	assert_int_equal(t->addr, w->j.thread[1]);
	assert_int_equal(t->stack_base, 0x70100000);
	assert_int_equal(t->stack_size, 0x10000);
	assert_true(hs_thread_anchor(w->hs, t, &a));
	assert_int_equal(a.sp, 0x70001000);
	assert_int_equal(a.pc, 0x1234);
	assert_int_equal(a.fp, 0x5678);
	assert_false(hs_thread_name(w->hs, t, name, sizeof(name)));
	assert_false(hs_thread_in_deopt(w->hs, t));
	assert_int_equal(hs_thread_cont_entry(w->hs, t), 0);
	t = hs_thread_find(w->hs, 1000);
	assert_false(hs_thread_anchor(w->hs, t, &a));
	assert_null(hs_thread_find(w->hs, 4711));
	assert_null(hs_thread_find(w->hs, -1));
	assert_int_equal(hs_thread_count(w->hs), 2);
}

/* Every byte of the JVM's data and code overwritten in turn by noise: no crash, no endless loop. */
static void survives_noise(void **state)
{
	struct world *w = *state;
	uint64_t seed = 88172645463325252u;

	for (int round = 0; round < 400; round++) {
		uint8_t noise[64];
		struct hotspot *hs = NULL;
		uint64_t base = round % 2 ? w->j.heap_low : w->j.segmap & ~(uint64_t)0xfffff;

		for (int k = 0; k < 24; k++) {
			for (size_t i = 0; i < sizeof(noise); i++) {
				seed ^= seed << 13;
				seed ^= seed >> 7;
				seed ^= seed << 17;
				noise[i] = (uint8_t)(seed >> (k % 3 ? 9 : 60));
			}
			fake_jvm_poke(&w->j, base + seed % 0xc000, noise, 1 + seed % sizeof(noise));
		}
		for (int i = 0; i < 4; i++)
			for (uint64_t pc = w->j.begin[i]; pc < w->j.end[i]; pc += 97)
				hs_code_find(w->hs, pc);
		hs_method_find(w->hs, w->j.inner);
		hs_thread_refresh(w->hs);
		if (round % 16 == 0 && hotspot_open(w->j.mem, fake_jvm_symbol, &w->j, &hs, NULL) == 0) {
			for (int i = 0; i < 4; i++)
				hs_code_find(hs, w->j.begin[i]);
			hs_method_find(hs, w->j.outer);
		}
		hotspot_close(hs);
	}
}

int main(void)
{
#define ALL(f)                                                                                                         \
	cmocka_unit_test_setup_teardown(f, set_up_8, tear_down),                                                       \
		cmocka_unit_test_setup_teardown(f, set_up_11, tear_down),                                              \
		cmocka_unit_test_setup_teardown(f, set_up_17, tear_down),                                              \
		cmocka_unit_test_setup_teardown(f, set_up_25, tear_down)
	const struct CMUnitTest tests[] = {
		ALL(finds_every_blob),
		ALL(copies_an_nmethod),
		ALL(names_a_method),
		ALL(refuses_garbage_methods),
		ALL(names_stubs_and_codelets),
		ALL(notices_a_replaced_nmethod),
		ALL(checks_once_for_a_batch),
		ALL(notices_a_freed_nmethod),
		ALL(notices_a_replaced_method),
		ALL(refuses_an_unfinished_nmethod),
		ALL(knows_an_osr_method_that_is_left),
		ALL(knows_no_methods_of_a_dead_nmethod),
		ALL(knows_threads),
		ALL(survives_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
