#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbolizer/hotspot/code/trap.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"

enum { PREDICATE = 17, LOOP_LIMIT = 18, UNSTABLE_IF = 23, FUSED_IF = 24, RANGE_CHECK = 3 };

/* Deoptimization::make_trap_request() without a class: action 3 bits, reason 5. */
static int32_t request(int reason, int action)
{
	return ~(reason << 3 | action);
}

static struct hs_constant constant(int64_t value)
{
	return (struct hs_constant){value, true};
}

static void set_17(struct jvm *jvm)
{
	jvm->l.c.trap_reason_shift = constant(3);
	jvm->l.c.trap_reason_bits = constant(5);
	jvm->l.c.trap_predicate = constant(PREDICATE);
	jvm->l.c.trap_loop_limit = constant(LOOP_LIMIT);
	jvm->l.c.trap_unstable_if = constant(UNSTABLE_IF);
	jvm->l.c.trap_fused_if = constant(FUSED_IF);
}

static void test_kinds(void **state)
{
	static struct jvm jvm;
	struct hotspot hs = {.jvm = &jvm};

	(void)state;
	set_17(&jvm);
	for (int action = 0; action < 5; action++) {
		assert_int_equal(hs_trap_kind(&hs, request(PREDICATE, action)), TRAP_OF_LOOP);
		assert_int_equal(hs_trap_kind(&hs, request(LOOP_LIMIT, action)), TRAP_OF_LOOP);
		assert_int_equal(hs_trap_kind(&hs, request(UNSTABLE_IF, action)), TRAP_OF_BRANCH);
		assert_int_equal(hs_trap_kind(&hs, request(FUSED_IF, action)), TRAP_OF_BRANCH);
		assert_int_equal(hs_trap_kind(&hs, request(RANGE_CHECK, action)), TRAP_OF_CHECK);
	}
}

static void test_index_of_a_class_is_no_reason(void **state)
{
	static struct jvm jvm;
	struct hotspot hs = {.jvm = &jvm};

	(void)state;
	set_17(&jvm);
	for (int32_t index = 0; index < 1000; index++)
		assert_int_equal(hs_trap_kind(&hs, index), TRAP_OF_CHECK);
}

/* JDK 8 does not export how a request is made; garbage must not shift out of range. */
static void test_unknown_encoding(void **state)
{
	static struct jvm jvm;
	struct hotspot hs = {.jvm = &jvm};
	static const int64_t wild[] = {-1, 0, 31, 64, INT64_MAX, INT64_MIN};

	(void)state;
	jvm.l.c.trap_predicate = constant(PREDICATE);
	assert_int_equal(hs_trap_kind(&hs, request(PREDICATE, 2)), TRAP_OF_CHECK);
	set_17(&jvm);
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		jvm.l.c.trap_reason_bits = constant(wild[i]);
		assert_int_equal(hs_trap_kind(&hs, request(PREDICATE, 2)), TRAP_OF_CHECK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_index_of_a_class_is_no_reason),
		cmocka_unit_test(test_unknown_encoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
