#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/hotspot/methods/method.h"

static struct bytecode at(const uint8_t *code, uint16_t n, int major, int32_t bci, bool want)
{
	struct hs_method m = {.bytecodes = code, .code_size = n};
	struct bytecode b = {0};

	assert_int_equal(bytecode_at(&m, major, bci, &b), want);
	return b;
}

static uint32_t length_of(uint8_t op, int major)
{
	uint8_t code[8] = {op};
	struct hs_method m = {.bytecodes = code, .code_size = sizeof(code)};
	struct bytecode b;

	return bytecode_at(&m, major, 0, &b) ? b.len : 0;
}

static void test_lengths_of_the_specification(void **state)
{
	static const struct {
		uint8_t op, len;
	} some[] = {
		{0, 1},   {16, 2},  {17, 3},  {18, 2},  {19, 3},  {20, 3},  {21, 2},  {25, 2},  {26, 1},  {42, 1},
		{53, 1},  {54, 2},  {58, 2},  {59, 1},  {131, 1}, {132, 3}, {133, 1}, {152, 1}, {153, 3}, {167, 3},
		{169, 2}, {172, 1}, {177, 1}, {178, 3}, {182, 3}, {184, 3}, {185, 5}, {186, 5}, {187, 3}, {188, 2},
		{189, 3}, {190, 1}, {192, 3}, {194, 1}, {197, 4}, {198, 3}, {200, 5}, {201, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		assert_int_equal(length_of(some[i].op, 17), some[i].len);
}

/* Every internal opcode has the length of what it replaces. */
static void test_internal_opcodes(void **state)
{
	(void)state;
	for (int op = 203; op <= 219; op++)
		assert_int_equal(length_of((uint8_t)op, 17), 3); /* get and put */
	for (int op = 220; op <= 223; op++)
		assert_int_equal(length_of((uint8_t)op, 17), 1); /* aload_0 and its pairs */
	assert_int_equal(length_of(224, 17), 2); /* _fast_iload */
	assert_int_equal(length_of(226, 17), 2); /* _fast_icaload */
	assert_int_equal(length_of(227, 17), 3); /* _fast_invokevfinal */
	assert_int_equal(length_of(230, 17), 2); /* _fast_aldc */
	assert_int_equal(length_of(231, 17), 3); /* _fast_aldc_w */
	assert_int_equal(length_of(232, 17), 1); /* _return_register_finalizer */
	assert_int_equal(length_of(233, 17), 3); /* _invokehandle */
	assert_int_equal(length_of(236, 17), 1); /* _nofast_aload_0 */
	assert_int_equal(length_of(237, 17), 2); /* _nofast_iload */
	assert_int_equal(length_of(238, 17), 0); /* _shouldnotreachhere */
	assert_int_equal(length_of(202, 17), 0); /* _breakpoint */
	assert_int_equal(length_of(255, 17), 0);
	/* JDK 8: one putfield fewer, no _nofast */
	assert_int_equal(length_of(218, 8), 3);
	assert_int_equal(length_of(219, 8), 1);
	assert_int_equal(length_of(226, 8), 3);
	assert_int_equal(length_of(232, 8), 3);
	assert_int_equal(length_of(233, 8), 0);
}

static void test_kinds(void **state)
{
	static const uint8_t code[] = {
		0xb6, 1,    0, /* 0 invokevirtual */
		0xba, 1,    0,    0,    0, /* 3 invokedynamic */
		0xa7, 0xff, 0xf8, /* 8 goto 0 */
		227,  1,    0, /* 11 _fast_invokevfinal */
		233,  1,    0, /* 14 _invokehandle */
		0xc6, 0,    3, /* 17 ifnull 20 */
		0xc8, 0xff, 0xff, 0xff, 0xff, /* 20 goto_w 19 */
	};

	(void)state;
	assert_int_equal(at(code, sizeof(code), 17, 0, true).kind, BYTECODE_INVOKE);
	assert_int_equal(at(code, sizeof(code), 17, 3, true).kind, BYTECODE_INVOKEDYNAMIC);
	assert_int_equal(at(code, sizeof(code), 17, 8, true).kind, BYTECODE_BRANCH);
	assert_int_equal(at(code, sizeof(code), 17, 8, true).target, 0);
	assert_int_equal(at(code, sizeof(code), 17, 11, true).kind, BYTECODE_INVOKE);
	assert_int_equal(at(code, sizeof(code), 17, 14, true).kind, BYTECODE_INVOKE);
	assert_int_equal(at(code, sizeof(code), 17, 17, true).target, 20);
	assert_int_equal(at(code, sizeof(code), 17, 20, true).target, 19);
}

static void test_switches(void **state)
{
	/* at bci 1: 2 bytes of padding; default 40, 5..6 -> 30, -1 */
	static const uint8_t table[] = {0, 0xaa, 0, 0, 0, 0, 0, 40, 0,    0,    0,    5,
					0, 0,    0, 6, 0, 0, 0, 30, 0xff, 0xff, 0xff, 0xff};
	/* at bci 3: no padding; default 40, 1 pair 9 -> -3; the fast form */
	static const uint8_t lookup[] = {0, 0, 0, 229, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 9, 0xff, 0xff, 0xff, 0xfd};
	struct bytecode b;

	(void)state;
	b = at(table, sizeof(table), 17, 1, true);
	assert_int_equal(b.len, 23);
	assert_int_equal(b.target, 0);
	b = at(lookup, sizeof(lookup), 17, 3, true);
	assert_int_equal(b.len, 17);
	assert_int_equal(b.kind, BYTECODE_BRANCH);
	assert_int_equal(b.target, 0);
	at(table, sizeof(table) - 1, 17, 1, false);
	at(lookup, sizeof(lookup) - 1, 17, 3, false);
}

static void test_wide_and_cut_off(void **state)
{
	static const uint8_t wide[] = {196, 132, 0, 1, 0, 1, 196, 21, 0, 1, 182};

	(void)state;
	assert_int_equal(at(wide, sizeof(wide), 17, 0, true).len, 6);
	assert_int_equal(at(wide, sizeof(wide), 17, 6, true).len, 4);
	at(wide, sizeof(wide), 17, 10, false); /* an invoke without operands */
	at(wide, sizeof(wide), 17, 11, false);
	at(wide, sizeof(wide), 17, -1, false);
	at(NULL, 4, 17, 0, false);
}

/* A switch that claims 2^31 entries must neither overflow nor be followed. */
static void test_hostile_switch(void **state)
{
	uint8_t code[16] = {0xaa, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff};

	(void)state;
	at(code, sizeof(code), 17, 0, false);
	memcpy(code + 8, "\x7f\xff\xff\xff\x80\0\0\0", 8);
	at(code, sizeof(code), 17, 0, false);
	code[0] = 0xab;
	memcpy(code + 8, "\xff\xff\xff\xff", 4);
	at(code, sizeof(code), 17, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_of_the_specification),
		cmocka_unit_test(test_internal_opcodes),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_wide_and_cut_off),
		cmocka_unit_test(test_hostile_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
