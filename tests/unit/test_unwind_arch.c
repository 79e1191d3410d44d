/* The unwinder on a processor that does not exist: other registers, other calls, another frame of call_stub. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/unwind/patterns.h"
#include "symbolizer/hotspot/reader/hs_arch.h"
#include "symbolizer/target/arch.h"
#include "unwind_fake.h"

enum { RESULT, METHOD, PC, KEPT, BCP, SP, SENDER_SP, FP, REGISTERS };
enum { CALL = 0xca, STUBS = 4, STUB_RETURN = 0x100, BYTECODE = 0x300 };

static bool ends_in_call(const uint8_t *before, size_t n)
{
	return before[n - 1] == CALL;
}

static bool has_syscall(const uint8_t *bytes, uint32_t n)
{
	return memchr(bytes, 0x5c, n) != NULL;
}

static const struct arch processor = {
	.name = "fake",
	.n_regs = REGISTERS,
	.pc = PC,
	.sp = SP,
	.fp = FP,
	.callee_saved = 1 << KEPT | 1 << FP,
	.user_limit = UINT64_C(1) << 47,
	.ends_in_call = ends_in_call,
};

static const struct patterns patterns = {
	.stub_first = -2,
	.stub_words = 4,
	.n_stub_saved = 3,
	.stub_saved = {{KEPT, -1}, {FP, 0}, {PC, 1}},
	.result_reg = RESULT,
	.has_syscall = has_syscall,
};

static const struct hs_interp_layout layout = {
	.sender_sp = -2,
	.last_sp = -3,
	.method = -1,
	.bcp = -4,
	.locals = -5,
	.return_pc = 1,
	.saved_fp = 0,
	.sender_sp_reg = SENDER_SP,
	.method_reg = METHOD,
	.bcp_reg = BCP,
};

static uint64_t native_call(uint64_t at)
{
	fake_native_bytes(at - 1, &(uint8_t){CALL}, 1);
	return at;
}

/* The first function of a thread, whose caller cleared the frame pointer, and a C++ frame. Returns the latter's fp. */
static uint64_t push_native(void)
{
	fake_reset_on(&processor, &patterns, &layout);
	fake.dso_name = "ld-musl-fake.so.1";
	fake_push(native_call(NATIVE_NO_ROWS));
	fake_push(0);
	return fake.top;
}

static void set(unsigned reg, uint64_t value)
{
	regs_set(&fake.regs, reg, value);
}

static void expect(const struct frame_key *k, enum frame_kind kind, uint32_t id, int64_t off)
{
	assert_int_equal(k->kind, kind);
	assert_int_equal(k->id, id);
	assert_int_equal(k->off, off);
}

static void test_native(void **state)
{
	struct walk w;

	(void)state;
	push_native();
	set(FP, fake.top);
	set(PC, NATIVE_NO_ROWS + 0x20);
	set(SP, fake.top - 8);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 2);
	expect(&w.frames[0], FRAME_NATIVE, 3, 0x2120);
	expect(&w.frames[1], FRAME_NATIVE, 3, 0x2100);
}

/* A function with rows, by the registers of this processor. */
static void test_rows(void **state)
{
	uint64_t cpp_fp = push_native();
	struct walk w;

	(void)state;
	fake_push(native_call(NATIVE_NO_ROWS + 0x40));
	fake_push(cpp_fp);
	set(PC, NATIVE_FRAMED + 4);
	set(SP, fake.top);
	set(FP, 0x1234);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 3);
	expect(&w.frames[0], FRAME_NATIVE, 3, 0x104);
	expect(&w.frames[1], FRAME_NATIVE, 3, 0x2140);
	expect(&w.frames[2], FRAME_NATIVE, 3, 0x2100);
}

/* What is a call on x86-64 is none here. */
static void test_not_a_call(void **state)
{
	struct walk w;

	(void)state;
	push_native();
	fake_native_bytes(NATIVE_NO_ROWS - 5, (uint8_t[]){0xe8, 0, 0, 0, 0}, 5);
	set(FP, fake.top);
	set(PC, NATIVE_NO_ROWS + 0x20);
	set(SP, fake.top - 8);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI);
	assert_int_equal(w.n, 1);
}

/* An interpreted method under call_stub: its frame, the registers that it is found by, the stub's frame. */
static void test_interpreted(void **state)
{
	uint64_t cpp_fp = push_native(), stub_fp, fp, sender_sp;
	struct walk w;

	(void)state;
	fake_code(STUBS, BLOB_STUBS, 0);
	fake.call_stub_return = FAKE_CACHE + STUBS * FAKE_CODE_SIZE + STUB_RETURN;
	fake_push(native_call(NATIVE_NO_ROWS + 0x40));
	fake_push(cpp_fp);
	stub_fp = fake.top;
	fake_push(0x5a5a); /* KEPT */
	fake_push(0x5b5b);
	sender_sp = fake.top;
	fake_push(fake.call_stub_return);
	fake_push(stub_fp);
	fp = fake.top;
	fake_push(FAKE_METHOD + 3 * 0x100);
	fake_push(sender_sp);
	for (int i = 0; i < 8; i++)
		fake_push(0x777);
	set(PC, FAKE_CACHE + FAKE_CODE_SIZE + BYTECODE);
	set(SP, fake.top);
	set(FP, fp);
	set(BCP, FAKE_BYTECODES + 3 * 0x100 + 7);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 4);
	expect(&w.frames[0], FRAME_INTERPRETED, 3, 7);
	expect(&w.frames[1], FRAME_STUB, STUBS, STUB_RETURN);
	expect(&w.frames[2], FRAME_NATIVE, 3, 0x2140);
	expect(&w.frames[3], FRAME_NATIVE, 3, 0x2100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_not_a_call),
		cmocka_unit_test(test_interpreted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
