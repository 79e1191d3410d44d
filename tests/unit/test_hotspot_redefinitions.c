/* Classes that are redefined between a sample and its walk: other methods lie at the same addresses then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/target/mem.h"
#include "tests/support/fake_jvm.h"

struct world {
	struct fake_jvm j;
	struct hotspot *hs;
	uint64_t count;
};

static bool no_counter(void *ctx, const char *name, uint64_t *ret)
{
	return name[0] != '_' && fake_jvm_symbol(ctx, name, ret);
}

static int set_up_with(void **state, hs_symbol_fn *symbol)
{
	struct world *w = calloc(1, sizeof(*w));

	w->j.major = 25;
	fake_jvm_build(&w->j);
	if (hotspot_open(w->j.mem, symbol, &w->j, &w->hs, NULL))
		return -1;
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, fake_jvm_symbol);
}

static int set_up_without(void **state)
{
	return set_up_with(state, no_counter);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	hotspot_close(w->hs);
	fake_jvm_free(&w->j);
	free(w);
	return 0;
}

static void redefine(struct world *w)
{
	w->count++;
	fake_jvm_poke(&w->j, w->j.redefinitions, &w->count, sizeof(w->count));
}

/* Another method comes to lie where inner() was; what was there before. */
static uint64_t replace(struct world *w, uint64_t const_method)
{
	uint64_t was;

	assert_true(mem_read(w->j.mem, w->j.inner + FAKE_METHOD_CONST, &was, sizeof(was)));
	fake_jvm_poke(&w->j, w->j.inner + FAKE_METHOD_CONST, &const_method, sizeof(const_method));
	return was;
}

static uint64_t const_of_outer(struct world *w)
{
	uint64_t other;

	assert_true(mem_read(w->j.mem, w->j.outer + FAKE_METHOD_CONST, &other, sizeof(other)));
	return other;
}

static void walk(struct world *w, uint64_t sample_ns)
{
	hotspot_walk_times(w->hs, sample_ns, clock_monotonic_ns());
	hotspot_walk_begin(w->hs);
}

static uint32_t method_of(struct world *w, uint64_t sample_ns)
{
	uint32_t id = 0;

	/* As the sampler does: once more where something had changed. */
	for (int i = 0; i < 2; i++) {
		walk(w, sample_ns);
		id = hs_method_find(w->hs, w->j.inner);
		if (hotspot_walk_end(w->hs))
			break;
	}
	return id;
}

static const char *name_of(struct world *w, uint64_t sample_ns)
{
	uint32_t id = method_of(w, sample_ns);

	return id ? hs_method(w->hs, id)->name : "";
}

/* Read for the first time behind it: of no sample before it, and of each behind it. */
static void first_seen(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	redefine(w);
	assert_int_equal(method_of(w, before), 0);
	walk(w, before);
	assert_true(hs_method_lost(w->hs));
	assert_string_equal(name_of(w, clock_monotonic_ns()), "inner");
	walk(w, clock_monotonic_ns());
	assert_false(hs_method_lost(w->hs));
}

/* Others are redefined all the time; this class was never seen to change. */
static void other_class(void **state)
{
	struct world *w = *state;
	uint64_t before;

	assert_string_equal(name_of(w, clock_monotonic_ns()), "inner");
	before = clock_monotonic_ns();
	redefine(w);
	assert_string_equal(name_of(w, before), "inner");
}

static void changed_in_place(void **state)
{
	struct world *w = *state;
	uint64_t before, inner;

	assert_string_equal(name_of(w, clock_monotonic_ns()), "inner");
	before = clock_monotonic_ns();
	redefine(w);
	inner = replace(w, const_of_outer(w));
	assert_string_equal(name_of(w, before), "");
	assert_string_equal(name_of(w, clock_monotonic_ns()), "outer");
	replace(w, inner);
	redefine(w);
	walk(w, clock_monotonic_ns()); /* it is seen then */
	assert_string_equal(name_of(w, clock_monotonic_ns()), "inner");
	/* Known since before the sample, and the same again: it may have been outer() meanwhile. */
	before = clock_monotonic_ns();
	redefine(w);
	assert_string_equal(name_of(w, before), "");
	assert_string_equal(name_of(w, clock_monotonic_ns()), "inner");
}

/* A libjvm.so without symbols: what is there is taken as it is. */
static void without_counter(void **state)
{
	struct world *w = *state;
	uint64_t before = clock_monotonic_ns();

	redefine(w);
	assert_string_equal(name_of(w, before), "inner");
	walk(w, before);
	assert_false(hs_method_lost(w->hs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(first_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_class, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changed_in_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_counter, set_up_without, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
