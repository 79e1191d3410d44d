/* Loops without evidence, told apart by the constants that they run to. */
#include "test_attribution_code.h"

#include "symbolizer/attribution/attribution.h"
#include "symbolizer/attribution/graph.h"
#include "symbolizer/attribution/limits.h"

/* iload_1; sipush 12000; if_icmpge out; goto back; out: return */
static const uint8_t to_12000[] = {0x1b, 0x11, 0x2e, 0xe0, 0xa2, 0, 6, 0xa7, 0xff, 0xf9, 0xb1};
/* the same with bipush 100 */
static const uint8_t to_100[] = {0x1b, 0x10, 100, 0xa2, 0, 6, 0xa7, 0xff, 0xfa, 0xb1};
/* sipush 12000; if_icmpge out; nop; goto self: not what the loop compares */
static const uint8_t before_loop[] = {0x11, 0x2e, 0xe0, 0xa2, 0, 7, 0, 0xa7, 0, 0, 0xb1};
static const uint8_t looping[] = {0, 0, 0, 0xa7, 0xff, 0xfd};
static const uint8_t returning[] = {0, 0xb1};

enum { VISIBLE = 2, OTHER, HIDDEN, BEFORE, AFTER };

struct scene {
	struct fake f;
	uint8_t code[64];
	uint32_t inner;
};

/*
 * A loop that compares r11d with `limit`, between checks of BEFORE, called at 10, and AFTER, at 50. Called in
 * between: VISIBLE at 20, OTHER at 30, which have checks elsewhere, and HIDDEN at 40, which has none.
 */
static void scene_init(struct scene *s, int32_t limit)
{
	struct fake *f = &s->f;
	struct fake_trap traps[4];
	uint8_t cmp[7] = {0x41, 0x81, 0xfb};
	uint32_t top;

	memset(s, 0, sizeof(*s));
	fake_init(f);
	fake_work(f, 4);
	traps[0] = (struct fake_trap){fake_je(f), fake_scope(f, fake_scope(f, 0, 1, 20), VISIBLE, 3)};
	traps[1] = (struct fake_trap){fake_je(f), fake_scope(f, fake_scope(f, 0, 1, 30), OTHER, 3)};
	top = fake_here(f);
	traps[2] = (struct fake_trap){fake_je(f), fake_scope(f, fake_scope(f, 0, 1, 10), BEFORE, 0)};
	s->inner = fake_work(f, 8);
	memcpy(cmp + 3, &limit, 4);
	fake_emit(f, cmp, sizeof(cmp));
	fake_je_to(f, s->inner);
	traps[3] = (struct fake_trap){fake_je(f), fake_scope(f, fake_scope(f, 0, 1, 50), AFTER, 0)};
	fake_je_to(f, top);
	fake_ret(f);
	fake_traps(f, traps, 4);
	for (int bci = 10; bci <= 50; bci += 10)
		s->code[bci] = 0xb8; /* invokestatic */
	fake_bytecodes(f, 1, s->code, sizeof(s->code));
	fake_bytecodes(f, VISIBLE, to_12000, sizeof(to_12000));
	fake_bytecodes(f, OTHER, to_100, sizeof(to_100));
	fake_bytecodes(f, HIDDEN, looping, sizeof(looping));
	fake_bytecodes(f, BEFORE, returning, sizeof(returning));
	fake_bytecodes(f, AFTER, returning, sizeof(returning));
	f->callees[0][40] = HIDDEN;
}

static uint32_t innermost(struct scene *s)
{
	struct attribution *a = attribution_new_env(&s->f.env, ATTRIBUTION_LIMIT_NS, NULL);
	struct attributed r;

	assert_non_null(a);
	attribution_find(a, &s->f.code, s->inner + 2, 0, &r);
	attribution_free(a);
	assert_in_range(r.n, 1, 2);
	assert_true(r.exactness == EXACT_INFERRED || r.n == 1);
	return r.scope[0].method_id;
}

static uint32_t innermost_of(int32_t limit)
{
	static struct scene s;

	scene_init(&s, limit);
	return innermost(&s);
}

/* C2 stops some rounds early when it unrolls. */
static void the_limit_tells_whose_loop_it_is(void **state)
{
	(void)state;
	assert_int_equal(innermost_of(12000), VISIBLE);
	assert_int_equal(innermost_of(12000 - 15), VISIBLE);
	assert_int_equal(innermost_of(12001), HIDDEN);
	assert_int_equal(innermost_of(12000 - 1025), HIDDEN);
	assert_int_equal(innermost_of(120000), HIDDEN);
	assert_int_equal(innermost_of(100), HIDDEN); /* too small to tell */
}

/* Of several that it may be, it is their caller's. */
static void the_same_limit_twice_tells_nothing(void **state)
{
	static struct scene s;

	(void)state;
	scene_init(&s, 11985);
	fake_bytecodes(&s.f, HIDDEN, to_12000, sizeof(to_12000));
	assert_int_equal(innermost(&s), 1);
	fake_bytecodes(&s.f, VISIBLE, to_100, sizeof(to_100));
	assert_int_equal(innermost(&s), HIDDEN);
	fake_bytecodes(&s.f, VISIBLE, to_12000, sizeof(to_12000));
	fake_bytecodes(&s.f, HIDDEN, looping, sizeof(looping));
	fake_bytecodes(&s.f, OTHER, to_12000, sizeof(to_12000));
	assert_int_equal(innermost(&s), 1);
}

/* An end of the choice may stand in the very method that has the limit. */
static void the_method_at_the_end_stays(void **state)
{
	static struct scene s;

	(void)state;
	scene_init(&s, 11985);
	fake_bytecodes(&s.f, HIDDEN, returning, sizeof(returning));
	fake_bytecodes(&s.f, VISIBLE, to_100, sizeof(to_100));
	fake_bytecodes(&s.f, AFTER, to_12000, sizeof(to_12000));
	assert_int_equal(innermost(&s), AFTER);
}

/* Compared in front of a loop, not by it. */
static void other_constants_are_no_limits(void **state)
{
	static struct scene s;

	(void)state;
	scene_init(&s, 11985);
	fake_bytecodes(&s.f, VISIBLE, before_loop, sizeof(before_loop));
	assert_int_equal(innermost(&s), HIDDEN);
}

/* When the time is used up, the nearest record decides, and that is counted. */
static void time_is_limited(void **state)
{
	static struct scene s;
	struct attribution *a;
	struct attributed r;

	(void)state;
	scene_init(&s, 12000);
	a = attribution_new_env(&s.f.env, 1, NULL);
	assert_non_null(a);
	attribution_find(a, &s.f.code, s.inner + 2, 0, &r);
	assert_int_equal(attribution_refused(a), 0);
	attribution_find(a, &s.f.code, s.inner + 2, 0, &r);
	assert_int_equal(attribution_refused(a), 1);
	assert_int_equal(r.exactness, EXACT_APPROXIMATE);
	assert_true(r.n >= 1);
	attribution_grant(a, 1000);
	attribution_find(a, &s.f.code, s.inner + 2, 0, &r);
	assert_int_equal(attribution_refused(a), 0);
	attribution_find(a, &s.f.code, s.inner + 2, 0, &r);
	assert_int_equal(attribution_refused(a), 1);
	attribution_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_tells_whose_loop_it_is),   cmocka_unit_test(time_is_limited),
		cmocka_unit_test(the_same_limit_twice_tells_nothing), cmocka_unit_test(the_method_at_the_end_stays),
		cmocka_unit_test(other_constants_are_no_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
