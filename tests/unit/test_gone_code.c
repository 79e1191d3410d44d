/* Samples and the bridge's stream together: what is gone has its name by time, what is there keeps its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sampler/model/walk.h"
#include "sampler/session/bridge/bridge.h"
#include "sampler/session/bridge/gone_code.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "tests/support/fake_jvm.h"
#include "tests/support/wire_build.h"

enum { MS = 1000000, SIZE = 64 };

struct bridge {
	struct timeline *line; /* NULL: the connection is gone */
};

struct world {
	struct fake_jvm j;
	struct hotspot *hs;
	struct bridge bridge;
	struct gone_code *t;
	struct buf b;
	uint64_t begin, pc, sample; /* the first nmethod; the sample's time */
};

struct timeline *bridge_lock(struct bridge *b)
{
	return b->line;
}

void bridge_unlock(struct bridge *b)
{
	(void)b;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_jvm_build(&w->j);
	if (hotspot_open(w->j.mem, fake_jvm_symbol, &w->j, &w->hs, NULL))
		return -1;
	w->bridge.line = timeline_new();
	w->t = gone_code_new(&w->bridge, w->hs);
	w->begin = w->j.begin[1];
	w->pc = w->begin + 16;
	w->sample = clock_monotonic_ns();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gone_code_free(w->t);
	timeline_free(w->bridge.line);
	hotspot_close(w->hs);
	fake_jvm_free(&w->j);
	buf_done(&w->b);
	free(w);
	return 0;
}

/* Code of a/Gone.went at the first nmethod's place, of a time around the sample's. */
static void tell_code(struct world *w, int64_t from_ms, int64_t to_ms)
{
	class_load(&w->b, 1, "a/Gone", 10, "went");
	code_load(&w->b, 0, w->sample + (uint64_t)(from_ms * MS), w->begin, 10, SIZE);
	simple(&w->b, WIRE_CODE_UNLOAD, w->sample + (uint64_t)(to_ms * MS), w->begin, 10);
	assert_int_equal(feed_all(w->bridge.line, &w->b), 0);
	w->b.len = 0;
}

static const struct code *walk(struct world *w, uint64_t pc)
{
	const struct code *c;

	hotspot_walk_times(w->hs, w->sample, clock_monotonic_ns());
	hotspot_walk_begin(w->hs);
	c = hs_code(w->hs, hs_code_find(w->hs, pc));
	hotspot_walk_end(w->hs);
	return c;
}

/* Another's stands there now. */
static void replaced_code(void **state)
{
	struct world *w = *state;
	const struct timeline_code *told;
	const struct code *c;

	tell_code(w, -1000, 500);
	c = walk(w, w->pc);
	assert_non_null(c);
	assert_true(c->gone);
	assert_int_equal(c->begin, w->begin);
	told = gone_code_code(w->t, c);
	assert_non_null(told);
	assert_int_equal(told->begin, w->begin);
	assert_ptr_equal(walk(w, w->pc), c); /* one id for it */
	assert_int_equal(gone_code_stats(w->t).gone, 2);
	/* A sample of later: what stands there. */
	w->sample = clock_monotonic_ns();
	assert_false(walk(w, w->pc)->gone);
}

/* What ended at about the sample's time, began later or is alive: what stands there is right. */
static void code_that_is_there(void **state)
{
	static const int ms[][2] = {{-1000, 5}, {400, 500}, {-1000, -500}};

	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		struct world *w;

		tear_down(state);
		assert_int_equal(set_up(state), 0);
		w = *state;
		tell_code(w, ms[i][0], ms[i][1]);
		assert_false(walk(w, w->pc)->gone);
		assert_int_equal(gone_code_stats(w->t).gone, 0);
	}
}

static void nothing_there(void **state)
{
	struct world *w = *state;
	uint8_t used = 0;

	fake_jvm_poke(&w->j, w->j.block[1] + FAKE_USED, &used, 1);
	assert_null(walk(w, w->pc));
	tell_code(w, -1000, 5);
	assert_true(walk(w, w->pc)->gone);
	assert_null(walk(w, w->begin + SIZE));
	timeline_free(w->bridge.line);
	w->bridge.line = NULL;
	assert_null(walk(w, w->pc));
}

/* Code of the JVM's memory and its counterpart in the stream, by its first sample. */
static void counterpart(void **state)
{
	struct world *w = *state;
	struct frame_key frame = {.kind = FRAME_COMPILED};
	struct walk one = {.frames = &frame, .n = 1};
	const struct code *c = walk(w, w->pc);

	assert_false(c->gone);
	assert_null(gone_code_code(w->t, c)); /* no sample of it was noted */
	frame.id = c->id;
	gone_code_note(w->t, &one, w->sample);
	gone_code_note(w->t, &one, w->sample + UINT64_C(3600000) * MS); /* the first one counts */
	assert_null(gone_code_code(w->t, c)); /* nothing was told */
	tell_code(w, -1000, 1000);
	assert_non_null(gone_code_code(w->t, c));
	frame.id = hs_code_find(w->hs, w->j.begin[2] + 16);
	gone_code_note(w->t, &one, w->sample);
	assert_null(gone_code_code(w->t, hs_code(w->hs, frame.id)));
}

static const struct hs_method *method(struct world *w)
{
	uint64_t unloaded = 1;
	uint32_t id;

	fake_jvm_poke(&w->j, w->j.unloads, &unloaded, sizeof(unloaded));
	hotspot_walk_times(w->hs, w->sample, clock_monotonic_ns());
	hotspot_walk_begin(w->hs);
	id = hs_method_find(w->hs, w->j.inner);
	hotspot_walk_end(w->hs);
	return hs_method(w->hs, id);
}

/* Told before or behind the walk: it gets the name of its time. */
static void replaced_method(void **state)
{
	struct world *w = *state;
	const struct hs_method *m = method(w);

	assert_true(m && m->gone);
	assert_string_equal(m->name, "");
	assert_ptr_equal(method(w), m);
	gone_code_finish(w->t);
	assert_string_equal(m->name, ""); /* nobody knows */
	w->sample++;
	m = method(w);
	class_with(&w->b, 0, w->sample - 1000 * (uint64_t)MS, "a/Gone", "went", "()V", 8, w->j.inner);
	class_with(&w->b, 0, w->sample + 500 * (uint64_t)MS, "pkg/Fake", "inner", "()Ljava/lang/String;", 9,
		   w->j.inner);
	assert_int_equal(feed_all(w->bridge.line, &w->b), 0);
	gone_code_finish(w->t);
	assert_string_equal(m->class_name, "a/Gone");
	assert_string_equal(m->name, "went");
	assert_int_equal(gone_code_stats(w->t).gone_methods, 2);
}

/* What was read has the same names: it is the one, and knows more. */
static void same_method(void **state)
{
	struct world *w = *state;
	const struct hs_method *m;

	class_with(&w->b, 0, w->sample - 1000 * (uint64_t)MS, "pkg/Fake", "inner", "()Ljava/lang/String;", 9,
		   w->j.inner);
	assert_int_equal(feed_all(w->bridge.line, &w->b), 0);
	m = method(w);
	assert_false(m->gone);
	assert_string_equal(m->source_file, "Fake.java");
	assert_int_equal(gone_code_stats(w->t).gone_methods, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {TEST(replaced_code), TEST(code_that_is_there), TEST(nothing_there),
					   TEST(counterpart),   TEST(replaced_method),    TEST(same_method)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
