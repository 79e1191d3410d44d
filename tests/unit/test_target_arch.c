#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "symbolizer/target/arch.h"
#include "symbolizer/target/regs_host.h"

struct row {
	const char *assembly;
	uint8_t n, bytes[9];
};

/* The bytes at the end of a longer piece of code, as they are found before a return address. */
static bool ends(const struct row *r, uint8_t filler)
{
	uint8_t before[16];

	memset(before, filler, sizeof(before));
	memcpy(before + sizeof(before) - r->n, r->bytes, r->n);
	return arch_x86_64.ends_in_call(before, sizeof(before));
}

static const struct row calls[] = {
	{"call rel32", 5, {0xe8, 1, 2, 3, 4}},
	{"call rax", 2, {0xff, 0xd0}},
	{"call rdi", 2, {0xff, 0xd7}},
	{"call r8", 3, {0x41, 0xff, 0xd0}},
	{"call [rax]", 2, {0xff, 0x10}},
	{"call [r12]", 4, {0x41, 0xff, 0x14, 0x24}},
	{"call [rsp]", 3, {0xff, 0x14, 0x24}},
	{"call [rax + 8]", 3, {0xff, 0x50, 0x08}},
	{"call [rbp + 8]", 3, {0xff, 0x55, 0x08}},
	{"call [rsp + 8]", 4, {0xff, 0x54, 0x24, 0x08}},
	{"call [rax + 0x1000]", 6, {0xff, 0x90, 0, 0x10, 0, 0}},
	{"call [rsp + 0x1000]", 7, {0xff, 0x94, 0x24, 0, 0x10, 0, 0}},
	{"call [r15 + 0x1000]", 7, {0x41, 0xff, 0x97, 0, 0x10, 0, 0}},
	{"call [r12 + r9 * 8 + 0x1000]", 8, {0x43, 0xff, 0x94, 0xcc, 0, 0x10, 0, 0}},
	{"call [rax + rbx * 4]", 3, {0xff, 0x14, 0x98}},
	{"call [rip + 0x100]", 6, {0xff, 0x15, 0, 1, 0, 0}},
	{"call [abs]", 7, {0xff, 0x14, 0x25, 0, 1, 0, 0}},
	{"call [rax * 8 + abs]", 7, {0xff, 0x14, 0xc5, 0, 1, 0, 0}},
};

static const struct row others[] = {
	{"ret", 1, {0xc3}},
	{"jmp rel32", 5, {0xe9, 1, 2, 3, 4}},
	{"jmp rax", 2, {0xff, 0xe0}},
	{"jmp [rip + 0x100]", 6, {0xff, 0x25, 0, 1, 0, 0}},
	{"push rax", 2, {0xff, 0xf0}},
	{"inc eax", 2, {0xff, 0xc0}},
	{"call far [rax]", 2, {0xff, 0x18}},
	{"call [rax + 8] without its displacement", 2, {0xff, 0x50}},
	{"call [rsp] without its SIB byte", 2, {0xff, 0x14}},
	{"call rel32, one byte short", 4, {0xe8, 1, 2, 3}},
	{"call rax; nop", 3, {0xff, 0xd0, 0x90}},
	{"call [rip + ...], one byte short", 5, {0xff, 0x15, 0, 1, 0}},
};

static void test_ends_in_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!ends(&calls[i], 0x90) || !ends(&calls[i], 0x00))
			fail_msg("missed: %s", calls[i].assembly);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ends(&others[i], 0x90))
			fail_msg("not a call: %s", others[i].assembly);
}

static void test_ends_in_call_short(void **state)
{
	static const uint8_t call[] = {0xff, 0xd0}, rel[] = {0xe8, 0, 0, 0, 0};

	(void)state;
	assert_false(arch_x86_64.ends_in_call(call, 0));
	assert_false(arch_x86_64.ends_in_call(call, 1));
	assert_true(arch_x86_64.ends_in_call(call, 2));
	assert_false(arch_x86_64.ends_in_call(rel, 4));
	assert_true(arch_x86_64.ends_in_call(rel, 5));
}

static void test_regs(void **state)
{
	uint64_t values[20];
	struct regs r;

	(void)state;
	assert_int_equal(regs_host_perf_mask(), 0xff01ff); /* no flags, no segments */
	for (unsigned i = 0; i < 20; i++)
		values[i] = 100 + i;
	regs_host_from_perf(&r, values, 20);
	assert_int_equal(r.known, (1 << X86_REGS) - 1);
	assert_int_equal(r.r[X86_RAX], 100);
	assert_int_equal(r.r[X86_RBX], 101);
	assert_int_equal(r.r[X86_RCX], 102);
	assert_int_equal(r.r[X86_RDX], 103);
	assert_int_equal(r.r[X86_RSI], 104);
	assert_int_equal(r.r[X86_RDI], 105);
	assert_int_equal(r.r[X86_RBP], 106);
	assert_int_equal(r.r[X86_RSP], 107);
	assert_int_equal(r.r[X86_RIP], 108);
	assert_int_equal(r.r[X86_R8], 109);
	assert_int_equal(r.r[X86_R15], 116);
	assert_int_equal(arch_pc(arch_host(), &r), 108);
	assert_int_equal(arch_sp(arch_host(), &r), 107);

	regs_host_from_perf(&r, values, 8);
	assert_false(regs_known(&r, X86_RIP));
	assert_true(regs_known(&r, X86_RSP));
	assert_false(regs_known(&r, 64));
	regs_forget(&r, X86_RSP);
	assert_false(regs_known(&r, X86_RSP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_in_call),
		cmocka_unit_test(test_ends_in_call_short),
		cmocka_unit_test(test_regs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
