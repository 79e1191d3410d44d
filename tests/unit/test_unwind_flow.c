/* Rows of generated code, found by following the instructions. The bytes are those of disassembled JDKs, 8 to 28. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/unwind/flow.h"
#include "symbolizer/target/mem.h"

enum { CODE = 0x10000 };

struct code_bytes {
	const uint8_t *p;
	uint32_t len;
};

static uint32_t fetch(void *ctx, uint64_t pc, uint8_t *dst, uint32_t len)
{
	const struct code_bytes *c = ctx;

	if (pc < CODE || pc >= CODE + c->len)
		return 0;
	if (len > CODE + c->len - pc)
		len = (uint32_t)(CODE + c->len - pc);
	memcpy(dst, c->p + (pc - CODE), len);
	return len;
}

static struct flow_row follow_with(const void *bytes, uint32_t len, uint32_t at, struct flow_options o)
{
	struct code_bytes c = {bytes, len};
	struct flow *f = flow_new();
	struct flow_row row;

	assert_non_null(f);
	o.fetch = fetch;
	o.ctx = &c;
	o.lo = CODE;
	o.hi = CODE + len;
	if (!o.budget)
		o.budget = 200;
	flow_follow(f, &o, CODE + at, &row);
	flow_free(f);
	return row;
}

#define FOLLOW(bytes, at, ...) follow_with(bytes, sizeof(bytes), at, (struct flow_options){__VA_ARGS__})

static void assert_val(struct flow_val v, enum flow_kind kind, unsigned base, int off)
{
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.base, base);
	assert_int_equal(v.off, off);
}

#define ASSERT_TOP(row, at) /* return address at [rsp + at] */                                                         \
	do {                                                                                                           \
		assert_val((row).ra, FLOW_MEM, X86_RSP, at);                                                           \
		assert_val((row).sp, FLOW_REG, X86_RSP, (at) + 8);                                                     \
	} while (0)

/* JDK 17: add rsp,0x30; pop rbp; cmp rsp,[r15+0x348]; ja slow; ret; slow: movabs r10; mov; jmp out */
static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 0x30, 0x5d, 0x49, 0x3b, 0xa7, 0x48, 0x03, 0,    0, 0x0f, 0x87,
				   1,    0,    0,    0,    0xc3, 0x49, 0xba, 1,    2,    3,    4,    5, 6,    7,
				   8,    0x4d, 0x89, 0x97, 0x60, 0x03, 0,    0,    0xe9, 0,    0x10, 0, 0};

static void test_epilogue(void **state)
{
	static const struct {
		uint32_t at;
		int ra;
	} c[] = {{0, 0x38}, {4, 8}, {5, 0}, {12, 0}, {18, 0}};

	(void)state;
	for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct flow_row row = FOLLOW(epilogue, c[i].at, .straight = true, .budget = 14);

		assert_int_equal(row.end, FLOW_RETURN);
		ASSERT_TOP(row, c[i].ra);
		if (c[i].at < 5)
			assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RSP, c[i].ra - 8);
		else
			assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	}
}

static void test_return_poll_slow_path(void **state)
{
	struct flow_row row = FOLLOW(epilogue, 19, .straight = true);

	(void)state;
	assert_int_equal(row.end, FLOW_TAIL);
	ASSERT_TOP(row, 0);
	assert_int_equal(row.target_pc, CODE + sizeof(epilogue) + 0x1000);
}

/* Reserved stack: pop rbp; cmp rsp,[r15+d]; jb +6; call; int3; cmp rsp,[r15+d]; ja; ret */
static void test_reserved_stack_check(void **state)
{
	static const uint8_t code[] = {0x5d, 0x49, 0x3b, 0xa7, 0xb8, 5,    0,    0,    0x72, 0x06, 0xe8, 0, 0,   0x10,
				       0,    0xcc, 0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 0,    1,    0,    0, 0xc3};
	struct flow_row row = FOLLOW(code, 1, .no_calls = true, .budget = 24);

	(void)state;
	assert_int_equal(row.end, FLOW_RETURN);
	ASSERT_TOP(row, 0);
	row = FOLLOW(code, 0, .no_calls = true, .budget = 24);
	ASSERT_TOP(row, 8);
}

static void test_older_polls(void **state)
{
	/* 8: pop rbp; test [rip+d],eax; ret. 11: pop rbp; mov r10,[r15+d]; test [r10],eax; ret */
	static const uint8_t jdk8[] = {0x5d, 0x85, 0x05, 1, 0, 0, 0, 0xc3};
	static const uint8_t jdk11[] = {0x5d, 0x4d, 0x8b, 0x97, 8, 1, 0, 0, 0x41, 0x85, 2, 0xc3};
	/* native wrapper: leave; cmp [r15+8],0; jne +0; ret */
	static const uint8_t wrapper[] = {0xc9, 0x49, 0x83, 0x7f, 8, 0, 0x0f, 0x85, 1, 0, 0, 0, 0xc3, 0xcc};
	struct flow_row row;

	(void)state;
	row = FOLLOW(jdk8, 1, .straight = true);
	ASSERT_TOP(row, 0);
	row = FOLLOW(jdk11, 8, .straight = true);
	ASSERT_TOP(row, 0);
	row = FOLLOW(wrapper, 1, .straight = true);
	ASSERT_TOP(row, 0);
	row = FOLLOW(wrapper, 0, .straight = true);
	assert_val(row.ra, FLOW_MEM, X86_RBP, 8);
	assert_val(row.sp, FLOW_REG, X86_RBP, 16);
	assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RBP, 0);
}

/* mov [rsp-0x14000],eax; push rbp; sub rsp,0x20; ... frame size 6 words */
static const uint8_t prologue[] = {0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x90};

static void test_prologue(void **state)
{
	static const struct {
		uint32_t at;
		int ra;
		bool saved;
	} c[] = {{0, 0, false}, {7, 0, false}, {8, 8, true}};

	(void)state;
	for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct flow_row row =
			FOLLOW(prologue, c[i].at, .straight = true, .limit_pc = CODE + 12, .limit_words = 6);

		assert_int_equal(row.end, FLOW_LIMIT);
		ASSERT_TOP(row, c[i].ra);
		if (c[i].saved)
			assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RSP, 0);
		else
			assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	}
}

static void test_prologue_without_bang(void **state)
{
	/* sub rsp,0x18; mov [rsp+0x10],rbp: 4 words */
	static const uint8_t code[] = {0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90};
	struct flow_row row;

	(void)state;
	row = FOLLOW(code, 0, .straight = true, .limit_pc = CODE + 12, .limit_words = 4);
	ASSERT_TOP(row, 0);
	assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	row = FOLLOW(code, 7, .straight = true, .limit_pc = CODE + 12, .limit_words = 4);
	ASSERT_TOP(row, 0x18);
	assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
}

/* A call in the way of a straight row: the frame's own rule is asked instead. */
static void test_straight_stops_at_call(void **state)
{
	static const uint8_t code[] = {0xe8, 1, 0, 0, 0, 0x48, 0x83, 0xc4, 0x10, 0xc3};

	(void)state;
	assert_int_equal(FOLLOW(code, 0, .straight = true).end, FLOW_NONE);
}

static void test_stub_with_saved_registers(void **state)
{
	/* push rbp; mov rbp,rsp; push rbx; sub rsp,8; L: dec ecx; jne L; call; add rsp,8; pop rbx;
	 * leave; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 8, 0xff, 0xc9, 0x75, 0xfc,
				       0xe8, 0,    1,    0,    0,    0x48, 0x83, 0xc4, 8, 0x5b, 0xc9, 0xc3};
	struct flow_row row;

	(void)state;
	row = FOLLOW(code, 0);
	assert_int_equal(row.end, FLOW_RETURN);
	ASSERT_TOP(row, 0);
	assert_val(row.saved[SAVED_FP + 1], FLOW_REG, X86_RBX, 0);
	assert_true(row.called);
	row = FOLLOW(code, 9);
	assert_val(row.ra, FLOW_MEM, X86_RBP, 8);
	assert_val(row.saved[SAVED_FP + 1], FLOW_MEM, X86_RSP, 8);
	row = FOLLOW(code, 24);
	ASSERT_TOP(row, 0);
}

/* mov r11,rsp; and rsp,-16; push r11; call; pop rsp (reads the saved value); ret */
static void test_aligned_stack(void **state)
{
	static const uint8_t code[] = {0x49, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xf0, 0x41,
				       0x53, 0xe8, 0,    1,    0,    0,    0x5c, 0xc3};
	struct flow_row row = FOLLOW(code, 0);

	(void)state;
	ASSERT_TOP(row, 0);
	/* In the aligned part nothing leads back but the word on top. */
	row = FOLLOW(code, 14);
	assert_val(row.ra, FLOW_DEEP, X86_RSP, 0);
}

/* The shape of SHA-256 by AVX2: push rbx; push rbp; mov rax,rsp; sub rsp,0x220; and rsp,-32; mov [rsp+0x218],rax; 1,500
 * instructions; mov rsp,[rsp+0x218]; pop rbp; pop rbx; ret */
enum { LONG_BODY = 24, LONG_N = 1500 };

static void make_long(uint8_t *code)
{
	static const uint8_t begin[LONG_BODY] = {0x53, 0x55, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec,
						 0x20, 0x02, 0x00, 0x00, 0x48, 0x83, 0xe4, 0xe0,
						 0x48, 0x89, 0x84, 0x24, 0x18, 0x02, 0x00, 0x00};
	static const uint8_t end[] = {0x48, 0x8b, 0xa4, 0x24, 0x18, 0x02, 0x00, 0x00, 0x5d, 0x5b, 0xc3};

	memset(code, 0x90, LONG_BODY + LONG_N + sizeof(end));
	memcpy(code, begin, sizeof(begin));
	memcpy(code + LONG_BODY + LONG_N, end, sizeof(end));
}

struct known_row {
	uint64_t pc;
	struct flow_row row;
};

static const struct flow_row *known_row(void *known, uint64_t pc)
{
	struct known_row *k = known;

	return k->pc == pc ? &k->row : NULL;
}

static void test_long_way_joins_known_row(void **state)
{
	uint8_t code[LONG_BODY + LONG_N + 11];
	struct known_row k = {.pc = CODE + LONG_BODY + 7};
	(void)state;

	make_long(code);
	assert_int_equal(FOLLOW(code, 0, .budget = LONG_N).end, FLOW_NONE);
	k.row = FOLLOW(code, LONG_BODY + 7, .budget = LONG_N + 10);
	assert_val(k.row.ra, FLOW_DEEP, X86_RSP, 0x218);
	/* In the same terms as without it, where nothing, two registers, or the whole frame is on the stack. */
	for (uint32_t at = 0; at < LONG_BODY + 7; at++) {
		struct flow_row whole = FOLLOW(code, at, .budget = LONG_N + 30);
		struct flow_row row = FOLLOW(code, at, .budget = 30, .row_of = known_row, .known = &k);

		if (whole.end != FLOW_RETURN) /* in the middle of an instruction */
			continue;
		assert_int_equal(row.end, FLOW_RETURN);
		assert_true(flow_same(row.ra, whole.ra) && flow_same(row.sp, whole.sp));
		for (unsigned i = 0; i < SAVED_REGS; i++)
			assert_true(flow_same(row.saved[i], whole.saved[i]));
	}
	ASSERT_TOP(FOLLOW(code, 0, .budget = 30, .row_of = known_row, .known = &k), 0);
}

/* The entry barrier's way to a method that was made not entrant: mov rbp,[rsp+0x50]; add rsp,0x80;
 * pop rdi; leave; test [rsp],rsp; mov rsp,[rsp]; jmp [rsp-8]. The word on top of the frame is the sp. */
static void test_entry_barrier_deopt(void **state)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x6c, 0x24, 0x50, 0x48, 0x81, 0xc4, 0x80, 0,    0,    0,    0x5f,
				       0xc9, 0x48, 0x85, 0x24, 0x24, 0x48, 0x8b, 0x24, 0x24, 0xff, 0x64, 0x24, 0xf8};
	struct flow_row row = FOLLOW(code, 0);

	(void)state;
	assert_int_equal(row.end, FLOW_TAIL_MEM);
	assert_val(row.ra, FLOW_DEEPER, X86_RSP, 0x50);
	assert_int_equal(row.ra.add, 8);
	assert_int_equal(row.ra.more, 0);
	assert_val(row.sp, FLOW_DEEP, X86_RSP, 0x50);
	assert_int_equal(row.sp.add, 8);
	assert_int_equal(row.sp.more, 8);
	row = FOLLOW(code, 14);
	assert_val(row.ra, FLOW_DEEP, X86_RSP, 0);
	assert_val(row.sp, FLOW_MEM, X86_RSP, 0);
	ASSERT_TOP(FOLLOW(code, 22), 0);
}

/* c2i: pop rax; mov r13,rsp; sub rsp,0x10; mov [rsp],rax; mov rcx,[rbx+0x48]; jmp rcx */
static void test_c2i_adapter(void **state)
{
	static const uint8_t code[] = {0x58, 0x49, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48,
				       0x89, 4,    0x24, 0x48, 0x8b, 0x4b, 0x48, 0xff, 0xe1};
	struct flow_row row;

	(void)state;
	row = FOLLOW(code, 0);
	assert_int_equal(row.end, FLOW_JUMP_REG);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 0);
	assert_val(row.sender_sp, FLOW_REG, X86_RSP, 8);
	row = FOLLOW(code, 4);
	assert_val(row.ra, FLOW_REG, X86_RAX, 0);
	assert_val(row.sender_sp, FLOW_REG, X86_R13, 0);
	row = FOLLOW(code, 12);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 0);
}

/* Interpreter: pop rax; push 0; push rax; push rbp; mov rbp,rsp; push r13; push 0; mov r13,[rbx+8];
 * push rbx; ... */
static const uint8_t entry[] = {0x58, 0x6a, 0,    0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x6a,
				0,    0x4c, 0x8b, 0x6b, 8,    0x53, 0x90, 0xff, 0x24, 0xd8};

#define ENTRY_OPTIONS .interpreter = true, .sender_sp_slot = -1, .method_slot = -3

static void test_interpreter_entry(void **state)
{
	struct flow_row row;

	(void)state;
	row = FOLLOW(entry, 0, ENTRY_OPTIONS);
	assert_int_equal(row.end, FLOW_BUILT);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 0);
	assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	assert_val(row.slot[SLOT_SENDER_SP], FLOW_REG, X86_R13, 0);
	assert_val(row.slot[SLOT_METHOD], FLOW_REG, X86_RBX, 0);
	row = FOLLOW(entry, 1, ENTRY_OPTIONS);
	assert_val(row.ra, FLOW_REG, X86_RAX, 0);
	row = FOLLOW(entry, 4, ENTRY_OPTIONS);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 0);
	row = FOLLOW(entry, 5, ENTRY_OPTIONS);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 8);
	assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RSP, 0);
	row = FOLLOW(entry, 17, ENTRY_OPTIONS); /* the frame stands: dispatch */
	assert_int_equal(row.end, FLOW_TAIL_MEM);
}

static void test_interpreter_exit(void **state)
{
	/* mov rbx,[rbp-8]; leave; pop r13; mov rsp,rbx; cmp rsp,[r15+d]; jb +11; mov qword [r15+d],0;
	 * jmp r13 */
	static const uint8_t code[] = {0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x49,
				       0x3b, 0xa7, 0x20, 6,    0,    0,    0x72, 0x0b, 0x49, 0xc7, 0x87,
				       0x20, 6,    0,    0,    0,    0,    0,    0,    0x41, 0xff, 0xe5};
	struct flow_row row;

	(void)state;
	row = FOLLOW(code, 0, ENTRY_OPTIONS);
	assert_int_equal(row.end, FLOW_JUMP_REG);
	assert_val(row.target, FLOW_MEM, X86_RBP, 8);
	assert_val(row.sp, FLOW_MEM, X86_RBP, -8);
	assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RBP, 0);
	row = FOLLOW(code, 5, ENTRY_OPTIONS);
	assert_val(row.target, FLOW_MEM, X86_RSP, 0);
	assert_val(row.sp, FLOW_REG, X86_RBX, 0);
	assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	row = FOLLOW(code, 7, ENTRY_OPTIONS);
	assert_val(row.target, FLOW_REG, X86_R13, 0);
	row = FOLLOW(code, 10, ENTRY_OPTIONS);
	assert_val(row.sp, FLOW_REG, X86_RSP, 0);
}

/* forward_exception: call; mov rbx,rax; pop rdx; jmp rbx: the handler gets the return address in rdx */
static void test_exception_convention(void **state)
{
	static const uint8_t code[] = {0xe8, 0, 1, 0, 0, 0x48, 0x89, 0xc3, 0x5a, 0xff, 0xe3};
	struct flow_row row = FOLLOW(code, 0);

	(void)state;
	assert_int_equal(row.end, FLOW_JUMP_REG);
	assert_val(row.thrown_at, FLOW_MEM, X86_RSP, 0);
	assert_val(row.sp, FLOW_REG, X86_RSP, 8);
	assert_int_equal(row.target.kind, FLOW_UNKNOWN);
}

/* pop rcx; jmp rcx (C1's handle_exception_from_callee) returns. */
static void test_jump_to_popped(void **state)
{
	static const uint8_t code[] = {0x59, 0xff, 0xe1}, other[] = {0x59, 0x58, 0xff, 0xe1};
	struct flow_row row = FOLLOW(code, 0);

	(void)state;
	assert_int_equal(row.end, FLOW_RETURN);
	ASSERT_TOP(row, 0);
	assert_int_equal(FOLLOW(other, 0).end, FLOW_JUMP_REG); /* more was popped behind it */
}

/* A return address that is replaced on the way by something unknown is still in its place:
 * call; mov [rbp+8],rax; leave; ret */
static void test_replaced_return_address(void **state)
{
	static const uint8_t code[] = {0xe8, 0, 1, 0, 0, 0x48, 0x89, 0x45, 8, 0xc9, 0xc3};
	struct flow_row row = FOLLOW(code, 0);

	(void)state;
	assert_int_equal(row.end, FLOW_RETURN);
	assert_val(row.ra, FLOW_MEM, X86_RBP, 8);
}

/* The stack pointer was saved on the stack: pop rsp; add rsp,0x20; pop rbp; ret */
static void test_saved_stack_pointer(void **state)
{
	static const uint8_t code[] = {0x5c, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
	struct flow_row row = FOLLOW(code, 0);

	(void)state;
	assert_int_equal(row.end, FLOW_RETURN);
	assert_val(row.ra, FLOW_DEEP, X86_RSP, 0);
	assert_int_equal(row.ra.add, 0x28);
	assert_val(row.sp, FLOW_MEM, X86_RSP, 0);
	assert_int_equal(row.sp.add, 0x30);
}

/* A blob whose frame of 6 words is whole at its call: push rdx; sub rsp,0x20; mov [rsp+0x20],rbp;
 * and rsp,-16; call */
static void test_limit_at_call(void **state)
{
	static const uint8_t code[] = {0x52, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x6c, 0x24, 0x20,
				       0x48, 0x83, 0xe4, 0xf0, 0xe8, 0,    1,    0,    0};
	struct flow_row row = FOLLOW(code, 0, .straight = true, .limit_call = true, .limit_words = 6);

	(void)state;
	assert_int_equal(row.end, FLOW_LIMIT);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 0);
	assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	row = FOLLOW(code, 10, .straight = true, .limit_call = true, .limit_words = 6);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 40);
}

static bool is_behind_second_call(void *ctx, uint64_t pc)
{
	(void)ctx;
	return pc == CODE + 15;
}

/* A slow path in a loop without an end: pop rax; mov [rbp+8],rax; call; call, the frame of 4 words
 * whole; jmp to the first call. rbp is any value. */
static void test_whole_at_call(void **state)
{
	static const uint8_t code[] = {0x58, 0x48, 0x89, 0x45, 0x08, 0xe8, 0, 1, 0, 0, 0xe8, 0, 1, 0, 0, 0xeb, 0xf4};
	struct flow_row row = FOLLOW(code, 0, .whole = is_behind_second_call, .limit_words = 4);

	(void)state;
	assert_int_equal(row.end, FLOW_LIMIT);
	assert_val(row.ra, FLOW_MEM, X86_RSP, 32);
	assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RSP, 24);
	row = FOLLOW(code, 0, .limit_words = 4);
	assert_int_equal(row.end, FLOW_NONE);
}

/* generate_deopt_blob(): mov rcx,[rdi+0x18]; add rsp,8; mov r8,rsp; sub rsp,rbx; push [rcx]; push rbp;
 * mov rbp,rsp; sub rsp,rbx; mov [rbp-8],r8; mov r8,rsp; add rcx,8; dec edx; jne; push [rcx] */
static void test_deoptimisation(void **state)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x4f, 0x18, 0x48, 0x83, 0xc4, 8,    0x4c, 0x8b,
				       0xc4, 0x48, 0x29, 0xdc, 0xff, 0x31, 0x55, 0x48, 0x8b, 0xec,
				       0x48, 0x29, 0xdc, 0x4c, 0x89, 0x45, 0xf8, 0x4c, 0x8b, 0xc4,
				       0x48, 0x83, 0xc1, 8,    0xff, 0xca, 0x75, 0xe8, 0xff, 0x31};
	struct flow_row row = FOLLOW(code, 0, .straight = true, .rebuilds = true);

	(void)state;
	assert_int_equal(row.end, FLOW_LIMIT);
	assert_val(row.ra, FLOW_DEEP, X86_RDI, 0x18);
	assert_val(row.sp, FLOW_REG, X86_RSP, 8);
	row = FOLLOW(code, 16, .straight = true, .rebuilds = true); /* pc pushed, rbp not yet */
	assert_val(row.ra, FLOW_MEM, X86_RSP, 0);
	assert_val(row.sp, FLOW_REG, X86_R8, 0);
	assert_val(row.saved[SAVED_FP], FLOW_REG, X86_RBP, 0);
	row = FOLLOW(code, 20, .straight = true, .rebuilds = true); /* linked through rbp */
	assert_val(row.ra, FLOW_MEM, X86_RBP, 8);
	assert_val(row.saved[SAVED_FP], FLOW_MEM, X86_RBP, 0);
	row = FOLLOW(code, 27, .straight = true, .rebuilds = true); /* a frame stands: its pc is next */
	assert_val(row.ra, FLOW_MEM, X86_RCX, 8);
	assert_val(row.sp, FLOW_REG, X86_RSP, 0);
}

static void test_moves_sp(void **state)
{
	/* frame of 6 words: mov eax,ecx; add rsp,0x20; pop rbp; ret | push rax; pop rax; ret */
	static const uint8_t code[] = {0x89, 0xc8, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3, 0x50, 0x58, 0xc3};
	/* sub rsp,0x20 is the frame again (OSR entry), sub rsp,0x40 is not */
	static const uint8_t sub[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0x83, 0xec, 0x40};
	struct code_bytes c = {code, sizeof(code)};
	struct flow_options o = {.fetch = fetch, .ctx = &c};

	(void)state;
	assert_false(flow_moves_sp(&o, CODE, CODE + 8, 6));
	assert_true(flow_moves_sp(&o, CODE, CODE + 11, 6));
	c = (struct code_bytes){sub, sizeof(sub)};
	assert_false(flow_moves_sp(&o, CODE, CODE + 5, 6));
	assert_true(flow_moves_sp(&o, CODE, CODE + 9, 6));
	assert_true(flow_moves_sp(&o, CODE, CODE + 20, 6)); /* bytes missing: not known */
}

/* Each way to encode rsp as the operand that is written, and r12, whose number differs only by REX. */
static void test_moves_sp_by_any_encoding(void **state)
{
	static const struct {
		uint8_t len, bytes[10];
		bool moves;
	} insns[] = {
		{3, {0x48, 0x89, 0xc4}, true}, /* mov rsp,rax */
		{3, {0x48, 0x8b, 0xe0}, true}, /* mov rsp,rax */
		{10, {0x48, 0xbc, 1}, true}, /* mov rsp,1 */
		{7, {0x48, 0xc7, 0xc4, 1}, true}, /* mov rsp,1 */
		{4, {0x48, 0x8b, 0x60, 8}, true}, /* mov rsp,[rax+8] */
		{5, {0x48, 0x8d, 0x64, 0x24, 0xf8}, true}, /* lea rsp,[rsp-8] */
		{4, {0x48, 0x83, 0xe4, 0xf0}, true}, /* and rsp,-16 */
		{3, {0x48, 0x29, 0xc4}, true}, /* sub rsp,rax */
		{1, {0x9c}, true}, /* pushfq */
		{2, {0x41, 0x54}, true}, /* push r12 */
		{3, {0x49, 0x89, 0xc4}, false}, /* mov r12,rax */
		{3, {0x4c, 0x8b, 0xe0}, false}, /* mov r12,rax */
		{10, {0x49, 0xbc, 1}, false}, /* mov r12,1 */
		{5, {0x48, 0x89, 0x44, 0x24, 8}, false}, /* mov [rsp+8],rax */
		{5, {0x48, 0x89, 0x64, 0x24, 8}, false}, /* mov [rsp+8],rsp */
		{3, {0x48, 0x8b, 0xc4}, false}, /* mov rax,rsp */
		{4, {0x49, 0x83, 0xe4, 0xf0}, false}, /* and r12,-16 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(insns) / sizeof(*insns); i++) {
		struct code_bytes c = {insns[i].bytes, insns[i].len};
		struct flow_options o = {.fetch = fetch, .ctx = &c};

		assert_int_equal(flow_moves_sp(&o, CODE, CODE + insns[i].len, 6), insns[i].moves);
	}
}

/* Nothing ends: an endless loop, a trap, undecodable bytes, the end of the code. */
static void test_no_way_out(void **state)
{
	static const uint8_t loop[] = {0xeb, 0xfe}, trap[] = {0x90, 0xcc}, bad[] = {0x06}, cut[] = {0x48, 0x81, 0xec};

	(void)state;
	assert_int_equal(FOLLOW(loop, 0).end, FLOW_NONE);
	assert_int_equal(FOLLOW(trap, 0).end, FLOW_NONE);
	assert_int_equal(FOLLOW(bad, 0).end, FLOW_NONE);
	assert_int_equal(FOLLOW(cut, 0).end, FLOW_NONE);
}

/* Any bytes: an end, never a hang. */
static void test_garbage(void **state)
{
	uint8_t code[4096];
	uint32_t x = 12345;

	(void)state;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(code); i++) {
			x = x * 1664525 + 1013904223;
			code[i] = (uint8_t)(x >> 24);
		}
		assert_in_range(FOLLOW(code, 0, ENTRY_OPTIONS, .budget = 600).end, 0, FLOW_BUILT);
	}
}

static void test_eval(void **state)
{
	struct mem *mem = mem_pages_new();
	struct regs regs = {.known = 0};
	uint64_t word = 0x1234, v;

	(void)state;
	assert_non_null(mem);
	assert_int_equal(mem_pages_add(mem, 0x7000, &word, sizeof(word)), 0);
	regs_set(&regs, X86_RSP, 0x6ff0);
	assert_true(flow_eval(&(struct flow_val){FLOW_REG, X86_RSP, 8, 0, 0}, &regs, mem, &v));
	assert_int_equal(v, 0x6ff8);
	assert_true(flow_eval(&(struct flow_val){FLOW_MEM, X86_RSP, 16, 4, 0}, &regs, mem, &v));
	assert_int_equal(v, 0x1238);
	assert_false(flow_eval(&(struct flow_val){FLOW_MEM, X86_RSP, 0, 0, 0}, &regs, mem, &v));
	word = 0x6ff0;
	assert_int_equal(mem_pages_add(mem, 0x7100, &word, sizeof(word)), 0);
	assert_true(flow_eval(&(struct flow_val){FLOW_DEEP, X86_RSP, 0x110, 16, 0}, &regs, mem, &v));
	assert_int_equal(v, 0x1234);
	assert_false(flow_eval(&(struct flow_val){FLOW_DEEP, X86_RSP, 0x110, 8, 0}, &regs, mem, &v));
	assert_true(flow_eval(&(struct flow_val){FLOW_DEEP, X86_RSP, 0x110, 16, 3}, &regs, mem, &v));
	assert_int_equal(v, 0x1237);
	word = 0x7000;
	assert_int_equal(mem_pages_add(mem, 0x7200, &word, sizeof(word)), 0);
	word = 0x71f0;
	assert_int_equal(mem_pages_add(mem, 0x7300, &word, sizeof(word)), 0);
	assert_true(flow_eval(&(struct flow_val){FLOW_DEEPER, X86_RSP, 0x310, 16, 0}, &regs, mem, &v));
	assert_int_equal(v, 0x1234);
	assert_false(flow_eval(&(struct flow_val){FLOW_DEEPER, X86_RSP, 0x310, 16, 8}, &regs, mem, &v));
	assert_false(flow_eval(&(struct flow_val){FLOW_REG, X86_RBX, 0, 0, 0}, &regs, mem, &v));
	assert_false(flow_eval(&(struct flow_val){FLOW_REG, FLOW_ALIGNED, 0, 0, 0}, &regs, mem, &v));
	assert_false(flow_eval(&(struct flow_val){0}, &regs, mem, &v));
	mem_free(mem);
}

static bool is_itable(const void *bytes, uint32_t len, uint32_t at)
{
	struct code_bytes c = {bytes, len};
	struct flow_options o = {.fetch = fetch, .ctx = &c, .lo = CODE, .hi = CODE + len};

	return flow_is_itable(&o, CODE + at);
}

/* JDK 17, as disassembled, each with what stands behind it: the header of the next stub. */
static void test_itable(void **state)
{
	/* mov eax,[rsi+8]; movabs r11,0x800000000; add rax,r11; mov rbx,[rax+0x1d8]; jmp [rbx+0x40] */
	static const uint8_t vtable[] = {0x8b, 0x46, 0x08, 0x49, 0xbb, 0,    0,    0, 0, 8,    0,    0,    0,    0x49,
					 0x03, 0xc3, 0x48, 0x8b, 0x98, 0xd8, 0x01, 0, 0, 0xff, 0x63, 0x40, 0x75, 0xfe};
	/* mov eax,[rsi+8]; mov r11,[rax+0xa0]; next: test r11,r11; je 14 (missing); add rbx,0x10; cmp rax,r11; jne next;
	 * mov rbx,[rax+rbx]; jmp [rbx+0x40]; missing: jmp away */
	static const uint8_t itable[] = {0x8b, 0x46, 0x08, 0x4c, 0x8b, 0x98, 0xa0, 0,    0,    0,    0x4d, 0x85, 0xdb,
					 0x74, 0x10, 0x48, 0x83, 0xc3, 0x10, 0x49, 0x3b, 0xc3, 0x75, 0xf2, 0x48, 0x8b,
					 0x1c, 0x18, 0xff, 0x63, 0x40, 0xe9, 0,    0x10, 0,    0,    0,    0};
	static const uint8_t in_vtable[] = {0, 3, 13, 16, 23}, in_itable[] = {0, 3, 10, 13, 15, 22, 24, 28, 31};

	(void)state;
	for (unsigned i = 0; i < sizeof(in_vtable); i++)
		assert_false(is_itable(vtable, sizeof(vtable), in_vtable[i]));
	for (unsigned i = 0; i < sizeof(in_itable); i++)
		assert_true(is_itable(itable, sizeof(itable), in_itable[i]));
	/* What cannot be read is not said to be one. */
	assert_false(is_itable(itable, 3, 0));
	assert_false(is_itable(itable, sizeof(itable), sizeof(itable)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epilogue),
		cmocka_unit_test(test_return_poll_slow_path),
		cmocka_unit_test(test_reserved_stack_check),
		cmocka_unit_test(test_older_polls),
		cmocka_unit_test(test_prologue),
		cmocka_unit_test(test_prologue_without_bang),
		cmocka_unit_test(test_straight_stops_at_call),
		cmocka_unit_test(test_stub_with_saved_registers),
		cmocka_unit_test(test_aligned_stack),
		cmocka_unit_test(test_long_way_joins_known_row),
		cmocka_unit_test(test_entry_barrier_deopt),
		cmocka_unit_test(test_c2i_adapter),
		cmocka_unit_test(test_interpreter_entry),
		cmocka_unit_test(test_interpreter_exit),
		cmocka_unit_test(test_exception_convention),
		cmocka_unit_test(test_jump_to_popped),
		cmocka_unit_test(test_replaced_return_address),
		cmocka_unit_test(test_saved_stack_pointer),
		cmocka_unit_test(test_limit_at_call),
		cmocka_unit_test(test_whole_at_call),
		cmocka_unit_test(test_deoptimisation),
		cmocka_unit_test(test_moves_sp),
		cmocka_unit_test(test_moves_sp_by_any_encoding),
		cmocka_unit_test(test_no_way_out),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_eval),
		cmocka_unit_test(test_itable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
