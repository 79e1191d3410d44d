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
#include "tests/support/fake_jvm.h"

struct world {
	struct fake_jvm j;
	struct hotspot *hs;
	uint64_t pc, unloaded;
	/* What the functions that know of the past were asked, and what they answer. */
	uint64_t asked_ns;
	bool asked_there;
	const struct hs_method *asked_fresh;
	unsigned asked;
	uint32_t answer;
};

static int set_up(void **state, int major, const char *drop)
{
	struct world *w = calloc(1, sizeof(*w));

	w->j.major = major;
	w->j.drop = drop;
	fake_jvm_build(&w->j);
	if (hotspot_open(w->j.mem, fake_jvm_symbol, &w->j, &w->hs, NULL))
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
	fake_jvm_free(&w->j);
	free(w);
	return 0;
}

static void unload(struct world *w)
{
	w->unloaded += 64;
	fake_jvm_poke(&w->j, w->j.unloads, &w->unloaded, sizeof(w->unloaded));
}

/* A walk of a sample of that time, now. */
static void walk(struct world *w, uint64_t sample_ns)
{
	hotspot_walk_times(w->hs, sample_ns, clock_monotonic_ns());
	hotspot_walk_begin(w->hs);
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
