/* Classes that are unloaded between a sample and its walk: what is read then is not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/gone.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/target/mem.h"
#include "tests/support/fake_jvm.h"

enum { AREA = 96 };

struct world {
	struct fake_jvm j;
	struct mem *mem; /* that of `j`; counts what is read */
	struct hotspot *hs;
	uint64_t pc, unloaded;
	unsigned reads, count_reads; /* of anything; of the count of unloaded classes */
	uint64_t area; /* reads of any of the AREA bytes from there on are counted, too */
	unsigned area_reads;
	uint64_t at; /* when that address has been read, the JVM does this, once */
	void (*meanwhile)(struct world *w);
	/* What the functions that know of the past were asked, and what they answer. */
	uint64_t asked_ns;
	bool asked_there;
	const struct hs_method *asked_fresh;
	unsigned asked;
	uint32_t answer;
};

static void note_read(void *ctx, uint64_t addr, const void *bytes, size_t len)
{
	struct world *w = ctx;
	void (*meanwhile)(struct world *) = w->at - addr < len ? w->meanwhile : NULL;

	(void)bytes;
	w->reads++;
	w->count_reads += addr == w->j.unloads;
	w->area_reads += w->area && addr < w->area + AREA && addr + len > w->area;
	if (meanwhile) {
		w->meanwhile = NULL;
		meanwhile(w);
	}
}

static int set_up(void **state, int major, const char *drop)
{
	struct world *w = calloc(1, sizeof(*w));

	w->j.major = major;
	w->j.drop = drop;
	fake_jvm_build(&w->j);
	w->mem = mem_tap_new(w->j.mem, note_read, w);
	if (hotspot_open(w->mem, fake_jvm_symbol, &w->j, &w->hs, NULL))
		return -1;
	w->pc = w->j.begin[1] + 16;
	*state = w;
	return 0;
}

static int set_up_8(void **state)
{
	return set_up(state, 8, NULL);
}

static int set_up_25(void **state)
{
	return set_up(state, 25, NULL);
}

static int set_up_without(void **state)
{
	return set_up(state, 17, "PerfMemory::_start");
}

static int tear_down(void **state)
{
	struct world *w = *state;

	hotspot_close(w->hs);
	mem_free(w->mem);
	fake_jvm_free(&w->j);
	free(w);
	return 0;
}

static void unload(struct world *w)
{
	w->unloaded += 64;
	fake_jvm_poke(&w->j, w->j.unloads, &w->unloaded, sizeof(w->unloaded));
}

static void redefine(struct world *w)
{
	const uint64_t once = 1;

	fake_jvm_poke(&w->j, w->j.redefinitions, &once, sizeof(once));
}

/* A walk of a sample of that time, now. */
static void walk(struct world *w, uint64_t sample_ns)
{
	hotspot_walk_times(w->hs, sample_ns, clock_monotonic_ns());
	hotspot_walk_begin(w->hs);
}

/* What the JVM has counted so far. */
static void notice(struct world *w)
{
	walk(w, clock_monotonic_ns());
	assert_true(hotspot_walk_end(w->hs));
}

static uint32_t code_of(struct world *w, uint64_t sample_ns)
{
	uint32_t id;

	walk(w, sample_ns);
	id = hs_code_find(w->hs, w->pc);
	assert_true(hotspot_walk_end(w->hs));
	return id;
}

static uint32_t method_of(struct world *w, uint64_t sample_ns)
{
	uint32_t id;

	walk(w, sample_ns);
	id = hs_method_find(w->hs, w->j.inner);
	assert_true(hotspot_walk_end(w->hs));
	return id;
}

static void nothing_unloaded(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	assert_int_not_equal(code_of(w, before), 0);
	assert_int_not_equal(method_of(w, before), 0);
	walk(w, before);
	assert_false(hs_method_lost(w->hs));
}

/* Read for the first time long behind the unloading: of no sample before it, and of each behind it. */
static void new_code(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns() - UINT64_C(10000000000);

	unload(w);
	assert_int_equal(code_of(w, before), 0);
	/* It is known now, and still no answer for that time. */
	assert_int_equal(code_of(w, before), 0);
	assert_int_equal(code_of(w, before + 1), 0);
	assert_int_not_equal(code_of(w, clock_monotonic_ns()), 0);
	assert_int_equal(code_of(w, before), 0);
}

/* Many frames may be of such code: one reading of the count is for all of them, until something else is read. */
static void count_read_once(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns() - UINT64_C(10000000000);

	code_of(w, before);
	w->count_reads = 0;
	walk(w, before);
	for (int i = 0; i < 10; i++)
		assert_int_not_equal(hs_code_find(w->hs, w->pc), 0);
	assert_int_equal(w->count_reads, 1);
	unload(w);
	for (int i = 0; i < 10; i++)
		assert_int_not_equal(hs_code_find(w->hs, w->pc), 0); /* it was read before that */
	assert_int_equal(w->count_reads, 1);
	walk(w, before);
	assert_int_equal(hs_code_find(w->hs, w->pc), 0);
	assert_int_equal(w->count_reads, 2);
}

/* Nothing is known of a new method that the count could confirm, so it is read when the walk begins, and after the method. */
static void count_read_for_new_method(void **state)
{
	struct world *w = *state;

	w->mem->exact = false;
	w->count_reads = 0;
	assert_int_not_equal(method_of(w, clock_monotonic_ns()), 0);
	assert_int_equal(w->count_reads, 2);
}

static unsigned reads_of_const_method(struct world *w)
{
	assert_true(mem_read_u64(w->j.mem, w->j.inner + FAKE_METHOD_CONST, &w->area));
	walk(w, clock_monotonic_ns());
	assert_int_not_equal(hs_method_find(w->hs, w->j.inner), 0);
	assert_true(hotspot_walk_end(w->hs));
	return w->area_reads;
}

/* What follows a ConstMethod's fields is read with them. */
static void bytecodes_read_at_once(void **state)
{
	struct world *w = *state;

	assert_int_equal(reads_of_const_method(w), 2);
	tear_down(state);
	assert_int_equal(set_up_25(state), 0);
	w = *state;
	w->mem->exact = false;
	assert_int_equal(reads_of_const_method(w), 1);
}

/* As Method::allocate() places them: a copy of `inner` at AWAY, with `gap` bytes between its ConstMethod and its Method. */
#define AWAY UINT64_C(0x7d0000000000)

static const struct hs_method *inner_away(struct world *w, uint64_t gap, bool readable_before)
{
	static const uint8_t zeros[1024];
	uint64_t method = AWAY + 160 + gap, const_method, at = AWAY;
	uint8_t bytes[160];

	assert_true(mem_read_u64(w->j.mem, w->j.inner + FAKE_METHOD_CONST, &const_method));
	fake_jvm_poke(&w->j, AWAY - (readable_before ? sizeof(zeros) : 0), zeros, sizeof(zeros));
	assert_true(mem_read(w->j.mem, const_method, bytes, sizeof(bytes)));
	fake_jvm_poke(&w->j, AWAY, bytes, sizeof(bytes));
	fake_jvm_poke(&w->j, AWAY + sizeof(bytes), zeros, sizeof(zeros));
	assert_true(mem_read(w->j.mem, w->j.inner, bytes, 96));
	fake_jvm_poke(&w->j, method, bytes, 96);
	fake_jvm_poke(&w->j, method + FAKE_METHOD_CONST, &at, sizeof(at));
	w->mem->exact = false;
	w->area = AWAY;
	walk(w, clock_monotonic_ns());
	return hs_method(w->hs, hs_method_find(w->hs, method));
}

static void expect_inner(const struct hs_method *m)
{
	assert_non_null(m);
	assert_string_equal(m->name, "inner");
	assert_string_equal(m->class_name, "pkg/Fake");
	assert_int_equal(m->const_method, AWAY);
	assert_int_equal(m->code_size, 10);
	assert_int_equal(m->bytecodes[9], 0x2a);
	assert_int_not_equal(m->line_table_len, 0);
}

static void const_method_before_method(void **state)
{
	struct world *w = *state;

	expect_inner(inner_away(w, 0, true));
	assert_int_equal(w->area_reads, 1);
}

/* What is before the Method cannot be read, or is too little. */
static void const_method_further_before_method(void **state)
{
	struct world *w = *state;

	expect_inner(inner_away(w, 16, false));
	assert_int_equal(w->area_reads, 1);
	tear_down(state);
	assert_int_equal(set_up_25(state), 0);
	w = *state;
	expect_inner(inner_away(w, 400, true));
	assert_int_equal(w->area_reads, 2);
}

/* Another compilation of the same methods comes to the same place; how much is read to see it. */
static unsigned compiled_again(struct world *w, int32_t compile_id)
{
	uint64_t now = clock_monotonic_ns();
	uint32_t id;

	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &compile_id, sizeof(compile_id));
	walk(w, now);
	hs_code_find(w->hs, w->pc);
	assert_false(hotspot_walk_end(w->hs));
	w->reads = 0;
	id = code_of(w, now);
	assert_int_equal(hs_code(w->hs, id)->compile_id, compile_id);
	return w->reads;
}

/* Methods of new code that are known already: their names are read again only if classes were unloaded since. */
static void known_methods(void **state)
{
	struct world *w = *state;
	uint32_t method = hs_code(w->hs, code_of(w, clock_monotonic_ns()))->method_id;
	unsigned known = compiled_again(w, 1001), unloaded;

	unload(w);
	unloaded = compiled_again(w, 1002);
	assert_true(known + 10 < unloaded);
	assert_int_equal(hs_code(w->hs, code_of(w, clock_monotonic_ns()))->method_id, method);
	/* They were found unchanged. */
	assert_int_equal(compiled_again(w, 1003), known);
}

/* Unless what is read is recorded, nothing of these methods is read, until classes are unloaded. */
static void known_methods_unread(void **state)
{
	struct world *w = *state;
	uint32_t method = hs_code(w->hs, code_of(w, clock_monotonic_ns()))->method_id;
	unsigned recorded = compiled_again(w, 1001), unread;

	w->mem->exact = false;
	unread = compiled_again(w, 1002);
	assert_true(unread + 2 <= recorded);
	unload(w);
	assert_true(unread + 10 < compiled_again(w, 1003));
	assert_int_equal(compiled_again(w, 1004), unread);
	assert_int_equal(hs_code(w->hs, code_of(w, clock_monotonic_ns()))->method_id, method);
}

/* The old methods of a redefined class are freed later, without a trace. */
static void known_methods_after_redefinition(void **state)
{
	struct world *w = *state;
	unsigned unread;

	code_of(w, clock_monotonic_ns());
	w->mem->exact = false;
	unread = compiled_again(w, 1001);
	redefine(w);
	assert_true(unread + 2 <= compiled_again(w, 1002));
	assert_true(unread + 2 <= compiled_again(w, 1003));
}

static uint64_t word_at(struct world *w, uint64_t addr)
{
	uint64_t ret;

	assert_true(mem_read_u64(w->j.mem, addr, &ret));
	return ret;
}

static void set_word(struct world *w, uint64_t addr, uint64_t value)
{
	fake_jvm_poke(&w->j, addr, &value, sizeof(value));
}

static uint64_t pool_of_inner(struct world *w)
{
	return word_at(w, word_at(w, w->j.inner + FAKE_METHOD_CONST) + FAKE_CONST_POOL);
}

/* Makes `outer` a method of the class of `inner`, with the same name and signature. */
static void make_sibling(struct world *w)
{
	set_word(w, word_at(w, w->j.outer + FAKE_METHOD_CONST) + FAKE_CONST_POOL, pool_of_inner(w));
	w->mem->exact = false;
}

/* Another class, and its pool, come to the addresses of that of `inner`. */
static void load_another_class(struct world *w)
{
	uint64_t object = word_at(w, w->j.klass + FAKE_KLASS_SUPER);

	set_word(w, w->j.klass + FAKE_KLASS_NAME, word_at(w, object + FAKE_KLASS_NAME));
}

static const struct hs_method *outer_now(struct world *w)
{
	const struct hs_method *m;

	walk(w, clock_monotonic_ns());
	m = hs_method(w->hs, hs_method_find(w->hs, w->j.outer));
	assert_non_null(m);
	return m;
}

/* Another class has come to the same address. */
static void another_class(struct world *w, bool counted)
{
	make_sibling(w);
	assert_int_not_equal(method_of(w, clock_monotonic_ns()), 0);
	load_another_class(w);
	if (counted)
		unload(w);
	notice(w);
	assert_string_equal(outer_now(w)->class_name, "java/lang/Object");
}

static void class_after_unloading(void **state)
{
	another_class(*state, true);
}

/* No count moves, for the class of the first method was gone before that was read: its Method* was stale. */
static void class_after_stale_method(void **state)
{
	another_class(*state, false);
}

/* A method that was read after its class died tells nothing of the class that comes to the same addresses. */
static void dropped_method(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	make_sibling(w);
	unload(w);
	assert_int_equal(method_of(w, before), 0);
	load_another_class(w);
	assert_string_equal(outer_now(w)->class_name, "java/lang/Object");
}

enum { NEW_SYMBOL_BYTES = 512 };
#define NEW_SYMBOL UINT64_C(0x7c0000000000)

static void put_symbol(struct world *w, uint64_t addr, const char *text)
{
	uint16_t n = (uint16_t)strlen(text);

	fake_jvm_poke(&w->j, addr + FAKE_SYMBOL_LENGTH, &n, sizeof(n));
	fake_jvm_poke(&w->j, addr + FAKE_SYMBOL_TEXT, text, n);
}

static void put_new_symbol(struct world *w, const char *text)
{
	static const uint8_t zeros[NEW_SYMBOL_BYTES];

	fake_jvm_poke(&w->j, NEW_SYMBOL, zeros, sizeof(zeros));
	put_symbol(w, NEW_SYMBOL, text);
}

/* Two methods of a class. After the first was read, the text of the class's name changes: is it read for the second? */
static bool reads_class_again(struct world *w, bool lasts, bool same_pool)
{
	uint64_t symbol = word_at(w, w->j.klass + FAKE_KLASS_NAME);
	uint64_t pool = word_at(w, word_at(w, w->j.outer + FAKE_METHOD_CONST) + FAKE_CONST_POOL);
	const struct hs_method *m;

	w->mem->exact = false;
	if (same_pool)
		make_sibling(w);
	else
		set_word(w, pool + FAKE_POOL_HOLDER, w->j.klass);
	if (lasts)
		set_word(w, w->j.klass + FAKE_KLASS_LOADER, w->j.boot_loader);
	assert_int_not_equal(method_of(w, clock_monotonic_ns()), 0);
	put_symbol(w, symbol, "new/Name");
	m = outer_now(w);
	assert_string_equal(m->source_file, "Fake.java");
	return strcmp(m->class_name, "pkg/Fake") != 0;
}

static void class_that_lasts(void **state)
{
	assert_false(reads_class_again(*state, true, true));
}

static void class_that_may_be_unloaded(void **state)
{
	assert_true(reads_class_again(*state, false, true));
}

/* As classes that JDK 8 calls anonymous have them. */
static void class_that_lasts_with_another_pool(void **state)
{
	assert_true(reads_class_again(*state, true, false));
}

static void class_that_may_be_redefined(void **state)
{
	redefine(*state);
	notice(*state);
	assert_true(reads_class_again(*state, true, true));
}

/* The same class is loaded again to the same addresses, and its symbols to others: where "inner" was, there is "other" now. */
static void swapped_symbols(void **state)
{
	struct world *w = *state;
	uint64_t slots = pool_of_inner(w) + FAKE_POOL, name = word_at(w, slots + 8) & ~UINT64_C(1);
	uint32_t id;
	const struct hs_method *m;

	make_sibling(w);
	id = method_of(w, clock_monotonic_ns());
	put_new_symbol(w, "inner");
	set_word(w, slots + 8, NEW_SYMBOL);
	put_symbol(w, name, "other");
	set_word(w, slots + 24, name);
	fake_jvm_poke(&w->j, word_at(w, w->j.outer + FAKE_METHOD_CONST) + FAKE_CONST_NAME, &(uint16_t){3}, 2);
	unload(w);
	assert_int_equal(method_of(w, clock_monotonic_ns()), id);
	m = outer_now(w);
	assert_string_equal(m->name, "other");
	assert_string_equal(m->source_file, "other");
}

static void reuse_symbol(struct world *w)
{
	char text[301] = {0};

	memset(text, 'b', sizeof(text) - 1);
	unload(w);
	put_new_symbol(w, text);
}

/* What is read of a long symbol is read before the count that confirms it. */
static void long_symbol(void **state)
{
	struct world *w = *state;
	char text[301] = {0};
	const struct hs_method *m;

	memset(text, 'a', sizeof(text) - 1);
	put_new_symbol(w, text);
	set_word(w, w->j.klass + FAKE_KLASS_NAME, NEW_SYMBOL);
	w->mem->exact = false;
	walk(w, clock_monotonic_ns());
	w->at = w->j.unloads;
	w->meanwhile = reuse_symbol;
	m = hs_method(w->hs, hs_method_find(w->hs, w->j.inner));
	assert_null(w->meanwhile);
	assert_non_null(m);
	assert_string_equal(m->class_name, text);
}

static void replace_inner(struct world *w)
{
	set_word(w, w->j.inner + FAKE_METHOD_CONST, word_at(w, w->j.outer + FAKE_METHOD_CONST));
}

/* Its memory has another owner while it is read, and no class was unloaded: the Method* was stale. */
static void replaced_while_read(void **state)
{
	struct world *w = *state;

	w->mem->exact = false;
	walk(w, clock_monotonic_ns());
	w->at = w->j.inner;
	w->meanwhile = replace_inner;
	assert_int_equal(hs_method_find(w->hs, w->j.inner), 0);
	assert_null(w->meanwhile);
}

/* So it has after it was read. */
static void replaced_after_it_was_read(void **state)
{
	struct world *w = *state;

	w->mem->exact = false;
	assert_int_not_equal(method_of(w, clock_monotonic_ns()), 0);
	walk(w, clock_monotonic_ns());
	assert_int_not_equal(hs_method_find(w->hs, w->j.inner), 0);
	replace_inner(w);
	assert_false(hotspot_walk_end(w->hs));
}

/* The count moves while they are read. */
static void unloaded_meanwhile(void **state)
{
	struct world *w = *state;
	unsigned known;

	code_of(w, clock_monotonic_ns());
	known = compiled_again(w, 1001);
	walk(w, clock_monotonic_ns()); /* reads the count */
	unload(w);
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &(int32_t){1002}, 4);
	hs_code_find(w->hs, w->pc);
	assert_false(hotspot_walk_end(w->hs));
	w->reads = 0;
	hotspot_walk_begin(w->hs); /* once more, in the same moment */
	hs_code_find(w->hs, w->pc);
	assert_true(known + 10 < w->reads);
}

/* A class is unloaded, and another loaded to its addresses, between the reading of the counts and the copy of new code. */
static void class_of_new_code(void **state)
{
	struct world *w = *state;
	struct code_scope s[4];
	const struct code *c;

	w->mem->exact = false;
	code_of(w, clock_monotonic_ns());
	walk(w, clock_monotonic_ns()); /* reads the counts */
	unload(w);
	load_another_class(w);
	fake_jvm_poke(&w->j, w->j.blob[1] + FAKE_NM_COMPILE_ID, &(int32_t){1002}, 4);
	hs_code_find(w->hs, w->pc);
	assert_false(hotspot_walk_end(w->hs));
	hotspot_walk_begin(w->hs); /* once more, in the same moment */
	hs_code_find(w->hs, w->pc);
	hotspot_walk_end(w->hs);
	c = hs_code(w->hs, code_of(w, clock_monotonic_ns())); /* a later sample */
	assert_int_equal(c->compile_id, 1002);
	assert_int_equal(code_scopes_at(c, w->j.major, c->records[0].scope_offset, s, 4), 2);
	assert_string_equal(hs_method(w->hs, s[0].method_id)->class_name, "java/lang/Object");
}

/* Read in the same moment: nothing else was compiled to its place since. */
static void code_read_soon(void **state)
{
	struct world *w = *state;
	uint64_t before;
	uint32_t id;

	assert_int_not_equal(method_of(w, clock_monotonic_ns()), 0);
	unload(w);
	before = clock_monotonic_ns();
	id = code_of(w, before);
	if (clock_monotonic_ns() - before < UINT64_C(100000000)) /* a machine that stands still tells nothing */
		assert_int_not_equal(id, 0);
}

/* Seen in its place before the sample was taken: nobody else was sampled there. */
static void known_code(void **state)
{
	struct world *w = *state;
	uint32_t id = code_of(w, clock_monotonic_ns());
	uint64_t before = clock_monotonic_ns();

	unload(w);
	assert_int_not_equal(id, 0);
	assert_int_equal(code_of(w, before), id);
}

/* Stubs are there as long as the JVM. */
static void stub(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	unload(w);
	w->pc = w->j.begin[3] + 70;
	assert_int_not_equal(code_of(w, before), 0);
}

static void method(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	unload(w);
	assert_int_equal(method_of(w, before), 0);
	walk(w, before);
	assert_true(hs_method_lost(w->hs));
	assert_int_not_equal(method_of(w, clock_monotonic_ns()), 0);
	walk(w, clock_monotonic_ns());
	assert_false(hs_method_lost(w->hs));
}

/* The boot loader's classes are never unloaded. */
static void method_of_boot_loader(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	fake_jvm_poke(&w->j, w->j.klass + FAKE_KLASS_LOADER, &w->j.boot_loader, sizeof(w->j.boot_loader));
	unload(w);
	assert_int_not_equal(method_of(w, before), 0);
}

/* -XX:-UsePerfData: nothing counts, what is there is taken as it is. */
static void no_counter(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	unload(w);
	assert_int_not_equal(code_of(w, before), 0);
	assert_int_not_equal(method_of(w, before), 0);
}

static uint32_t gone_code(void *ctx, uint64_t pc, uint64_t time_ns, bool there)
{
	struct world *w = ctx;

	assert_int_equal(pc, w->pc);
	w->asked++;
	w->asked_ns = time_ns;
	w->asked_there = there;
	return w->answer;
}

/* Who knows the past is asked of what was first seen later than the sample, and its word counts. */
static void past_code(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();
	uint8_t used = 0;
	uint32_t past, now;

	hs_set_gone(w->hs, gone_code, w);
	past = hs_gone_add(w->hs, w->j.begin[1], 64, 4, 1);
	assert_int_not_equal(past, 0);
	assert_true(hs_code(w->hs, past)->gone);
	now = code_of(w, before);
	assert_true(now && now != past); /* it knew nothing else */
	assert_int_equal(w->asked, 1);
	assert_int_equal(w->asked_ns, before);
	assert_true(w->asked_there);
	w->answer = past;
	assert_int_equal(code_of(w, before), past);
	assert_int_equal(w->asked, 2);
	assert_int_equal(code_of(w, clock_monotonic_ns()), now);
	assert_int_equal(w->asked, 2);
	/* Nothing is there any more. */
	fake_jvm_poke(&w->j, w->j.block[1] + FAKE_USED, &used, 1);
	walk(w, clock_monotonic_ns());
	hs_code_find(w->hs, w->pc);
	assert_false(hotspot_walk_end(w->hs));
	assert_int_equal(code_of(w, clock_monotonic_ns()), past);
	assert_false(w->asked_there);
	w->answer = UINT32_MAX; /* no code has that id */
	assert_int_equal(code_of(w, clock_monotonic_ns()), 0);
}

static uint32_t gone_method(void *ctx, uint64_t addr, uint64_t time_ns, const struct hs_method *fresh)
{
	struct world *w = ctx;

	assert_int_equal(addr, w->j.inner);
	w->asked++;
	w->asked_ns = time_ns;
	w->asked_fresh = fresh;
	return w->answer;
}

static void past_method(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();
	uint32_t past, now;

	hs_set_gone_method(w->hs, gone_method, w);
	now = method_of(w, before);
	assert_true(now);
	assert_int_equal(w->asked, 0); /* nothing was unloaded */
	past = hs_gone_method_add(w->hs);
	assert_true(hs_method(w->hs, past)->gone);
	assert_string_equal(hs_method(w->hs, past)->name, "");
	hs_gone_method_name(w->hs, past, "Gone", "went", "()V", NULL);
	assert_string_equal(hs_method(w->hs, past)->class_name, "Gone");
	hs_gone_method_name(w->hs, now, "Wrong", "wrong", "()V", NULL); /* that one is there */
	assert_string_equal(hs_method(w->hs, now)->name, "inner");
	unload(w);
	w->answer = past;
	/* Known from before: its names are looked at again, and are the same. */
	assert_int_equal(method_of(w, before), now);
	assert_int_equal(w->asked, 0);
}

static void past_method_unseen(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	hs_set_gone_method(w->hs, gone_method, w);
	w->answer = hs_gone_method_add(w->hs);
	unload(w);
	assert_int_equal(method_of(w, before), w->answer);
	assert_int_equal(w->asked, 1);
	assert_int_equal(w->asked_ns, before);
	assert_non_null(w->asked_fresh);
	assert_string_equal(w->asked_fresh->name, "inner");
	w->answer = UINT32_MAX; /* no method has that id */
	assert_int_equal(method_of(w, before), 0);
}

int main(void)
{
#define ALL(f)                                                                                                         \
	cmocka_unit_test_setup_teardown(f, set_up_8, tear_down),                                                       \
		cmocka_unit_test_setup_teardown(f, set_up_25, tear_down)
	const struct CMUnitTest tests[] = {
		ALL(nothing_unloaded),
		ALL(new_code),
		ALL(count_read_once),
		ALL(known_methods),
		ALL(known_methods_unread),
		ALL(known_methods_after_redefinition),
		ALL(count_read_for_new_method),
		cmocka_unit_test_setup_teardown(bytecodes_read_at_once, set_up_25, tear_down),
		ALL(const_method_before_method),
		ALL(const_method_further_before_method),
		ALL(class_that_lasts),
		ALL(class_that_may_be_unloaded),
		ALL(class_that_lasts_with_another_pool),
		ALL(class_that_may_be_redefined),
		ALL(class_after_unloading),
		ALL(class_after_stale_method),
		ALL(dropped_method),
		ALL(swapped_symbols),
		ALL(long_symbol),
		ALL(replaced_while_read),
		ALL(replaced_after_it_was_read),
		ALL(unloaded_meanwhile),
		ALL(class_of_new_code),
		ALL(code_read_soon),
		ALL(known_code),
		ALL(stub),
		ALL(method),
		ALL(method_of_boot_loader),
		cmocka_unit_test_setup_teardown(no_counter, set_up_without, tear_down),
		ALL(past_code),
		ALL(past_method),
		ALL(past_method_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
