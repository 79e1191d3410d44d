/* Each decision of the unwinder on a JVM made of arrays (unwind_fake.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind_fake.h"

enum { LEAF = 2, CALLER = 3, STUBS = 4, VTABLE = 5, ADAPTER = 6, CONT = 7, ENTER_SPECIAL = 8 };
enum { LEAF_WORDS = 6, CALLER_WORDS = 8 };

/* mov [rsp-0x14000],eax; push rbp; sub rsp,0x20; nops */
static const uint8_t prologue[] = {0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20};
/* add rsp,0x20; pop rbp; cmp rsp,[r15+0x348]; ja; ret */
static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 0x48, 3,
				   0,    0,    0x0f, 0x87, 1,    0,    0,    0,    0xc3};
enum { EPILOGUE_AT = 0x200 };

static uint64_t at(unsigned id, uint32_t off)
{
	return FAKE_CACHE + id * FAKE_CODE_SIZE + off;
}

static void set(unsigned reg, uint64_t value)
{
	regs_set(&fake.regs, reg, value);
}

static void push_n(unsigned n, uint64_t word)
{
	for (unsigned i = 0; i < n; i++)
		fake_push(word);
}

/* The outer end of every stack here: root function, a C++ frame, call_stub. Returns rbp of call_stub. */
static uint64_t push_base(void)
{
	uint64_t fp;

	fake.call_stub_return = fake_call(STUBS, 0x100);
	push_n(4, 0);
	fake_push(fake_native_call(NATIVE_ROOT)); /* of the C++ frame: CFA - 8 */
	fake_push(0xb0b); /* saved rbp of the C++ frame */
	fake_push(fake_native_call(NATIVE_FRAMED));
	fake_push(0xcccc); /* rbp of the C++ frame */
	fp = fake.top;
	push_n(12, 0x5a5a5a);
	return fp;
}

static const struct code_record calls_leaf = {0x80, 1, true}, calls_itself = {0x180, 1, true};

static void setup(void)
{
	struct code *c;

	fake_reset();
	c = fake_code(LEAF, BLOB_NMETHOD, LEAF_WORDS);
	c->frame_complete = sizeof(prologue);
	c->verified_entry = 0;
	memset(fake.bytes[LEAF], 0x90, FAKE_CODE_SIZE);
	fake_bytes(LEAF, 0, prologue, sizeof(prologue));
	fake_bytes(LEAF, EPILOGUE_AT, epilogue, sizeof(epilogue));
	c = fake_code(CALLER, BLOB_NMETHOD, CALLER_WORDS);
	memset(fake.bytes[CALLER], 0x90, FAKE_CODE_SIZE);
	c->records = &calls_leaf;
	c->n_records = 1;
	fake_code(STUBS, BLOB_STUBS, 0);
	memset(fake.bytes[STUBS], 0xcc, FAKE_CODE_SIZE);
}

/* A whole frame of CALLER that was called by call_stub; its callee's return address on top. */
static void push_caller(void)
{
	uint64_t fp = push_base();

	fake_push(fake.call_stub_return);
	fake_push(fp); /* saved rbp: that of call_stub */
	push_n(CALLER_WORDS - 2, 0x111);
	fake_push(fake_call(CALLER, 0x80));
}

static void expect_key(const struct frame_key *k, enum frame_kind kind, unsigned flags, uint32_t id, int64_t off)
{
	assert_int_equal(k->kind, kind);
	assert_int_equal(k->flags, flags);
	assert_int_equal(k->id, id);
	assert_int_equal(k->off, off);
	assert_int_equal(k->zero, 0);
}

/* CALLER, call_stub, C++, root: the tail of a walk that is right. */
static void expect_caller_on(const struct walk *w, uint32_t from)
{
	assert_int_equal(w->end, WALK_ROOT);
	assert_false(w->resynchronised);
	assert_int_equal(w->n, from + 4);
	expect_key(&w->frames[from], FRAME_COMPILED, 0, CALLER, 0x80);
	expect_key(&w->frames[from + 1], FRAME_STUB, 0, STUBS, 0x100);
	expect_key(&w->frames[from + 2], FRAME_NATIVE, 0, 3, 0x100);
	expect_key(&w->frames[from + 3], FRAME_NATIVE, 0, 3, 0x1100);
}

static void walk_leaf(uint32_t off, struct walk *w)
{
	set(X86_RIP, at(LEAF, off));
	set(X86_RSP, fake.top);
	fake_walk(w);
	expect_key(&w->frames[0], FRAME_COMPILED, FRAME_PC_EXACT, LEAF, off);
	expect_caller_on(w, 1);
}

static void test_compiled_leaf(void **state)
{
	uint64_t caller_fp = 0xfeed; /* in CALLER rbp is any value */
	struct walk w;

	(void)state;
	setup();
	push_caller();
	set(X86_RBP, caller_fp);
	walk_leaf(0, &w);
	walk_leaf(7, &w);
	fake_push(caller_fp);
	walk_leaf(8, &w);
	push_n(4, 0x222);
	set(X86_RBP, 0xdead);
	walk_leaf(sizeof(prologue), &w);
	walk_leaf(0x100, &w);
	walk_leaf(EPILOGUE_AT, &w);
	fake.top += 4 * 8;
	walk_leaf(EPILOGUE_AT + 4, &w);
	fake.top += 8;
	for (uint32_t off = 5; off < sizeof(epilogue); off = off == 5 ? 12 : off == 12 ? 18 : 99)
		walk_leaf(EPILOGUE_AT + off, &w);
}

/* Words were pushed, and no way leads to the return: the return address is looked for. */
static void test_compiled_shifted(void **state)
{
	static const uint8_t code[] = {0x50, 0x50, 0xeb, 0xfe}; /* push rax x 2; jmp to itself */
	struct walk w;

	(void)state;
	setup();
	fake_bytes(LEAF, 0x100, code, sizeof(code));
	push_caller();
	fake_push(0xfeed);
	push_n(4, 0x222);
	push_n(2, 0x333);
	walk_leaf(0x102, &w);
	/* In a body that pushes nothing it is not: rather no caller than a wrong one. */
	setup();
	push_caller();
	fake_push(0xfeed);
	push_n(6, 0x222);
	set(X86_RIP, at(LEAF, 0x100));
	set(X86_RSP, fake.top);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_FRAME);
}

/* What lies where a return address may be, left by an earlier call, is none: native code calls no compiled
 * code, and each of its calls of it has a record. */
static void test_compiled_shifted_over_stale(void **state)
{
	static const uint8_t code[] = {0x50, 0x50, 0xeb, 0xfe}; /* push rax x 2; jmp to itself */
	struct walk w;

	(void)state;
	setup();
	fake_bytes(LEAF, 0x100, code, sizeof(code));
	push_caller();
	fake_push(0xfeed);
	fake_push(fake_call(CALLER, 0x200));
	fake_push(fake_native_call(FAKE_NATIVE + 0x200));
	push_n(2, 0x222);
	push_n(2, 0x333);
	walk_leaf(0x102, &w);
}

/* Not entrant: a jump over the first bytes. A thread that is past them is not confused. */
static void test_patched_entry(void **state)
{
	static const uint8_t jump[] = {0xe9, 1, 2, 3, 4};
	struct walk w;

	(void)state;
	setup();
	push_caller();
	fake_bytes(LEAF, 0, jump, sizeof(jump));
	walk_leaf(0, &w);
	walk_leaf(7, &w);
	fake_push(0xfeed);
	walk_leaf(8, &w);
}

static void test_rbp_store_behind_complete(void **state)
{
	/* sub rsp,0x28; mov [rsp+0x20],rbp */
	static const uint8_t code[] = {0x48, 0x81, 0xec, 0x28, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x20};
	uint64_t fp;
	struct walk w;

	(void)state;
	setup();
	fake_bytes(LEAF, 0, code, sizeof(code));
	fake.code[LEAF].frame_complete = 7;
	/* Called by call_stub itself, whose rbp must come through unharmed. */
	fp = push_base();
	fake_push(fake.call_stub_return);
	push_n(5, 0x666);
	set(X86_RIP, at(LEAF, 7));
	set(X86_RSP, fake.top);
	set(X86_RBP, fp);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 4);
}

static void test_osr_prologue(void **state)
{
	struct walk w;

	(void)state;
	setup();
	push_caller();
	fake.code[LEAF].osr_entry = 0x300;
	fake.code[LEAF].osr_bci = 5;
	fake_bytes(LEAF, 0x300, prologue, sizeof(prologue));
	set(X86_RBP, 0xfeed);
	walk_leaf(0x300, &w);
	walk_leaf(0x307, &w);
	fake_push(0xfeed);
	walk_leaf(0x308, &w);
}

static void test_deopted_return_address(void **state)
{
	struct code *c;
	struct walk w;

	(void)state;
	setup();
	push_caller();
	c = &fake.code[CALLER];
	c->deopt_handler = 0x700;
	c->orig_pc_offset = 16;
	fake.stack[(fake.top - FAKE_STACK) / 8] = at(CALLER, 0x700);
	fake.stack[(fake.top + 8 + 16 - FAKE_STACK) / 8] = at(CALLER, 0x80);
	set(X86_RIP, at(LEAF, 0));
	set(X86_RSP, fake.top);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	expect_key(&w.frames[1], FRAME_COMPILED, FRAME_DEOPTED, CALLER, 0x80);
	assert_int_equal(fake.frame_pc, at(CALLER, 0x80));
	/* C1's smallest frames have it at their sp. */
	c->orig_pc_offset = 0;
	fake.stack[(fake.top + 8 - FAKE_STACK) / 8] = at(CALLER, 0x80);
	fake_walk(&w);
	expect_key(&w.frames[1], FRAME_COMPILED, FRAME_DEOPTED, CALLER, 0x80);
	c->orig_pc_offset = 16;
	/* The original pc is garbage: the frame stays, with the handler's pc. */
	fake.stack[(fake.top + 8 + 16 - FAKE_STACK) / 8] = 12345;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	expect_key(&w.frames[1], FRAME_COMPILED, FRAME_DEOPTED, CALLER, 0x700);
}

/* An interpreter frame with `below` words of expression stack; returns its frame pointer. */
static uint64_t push_interpreted(uint64_t ret, uint64_t saved_fp, uint64_t sender_sp, unsigned method, uint32_t bci,
				 unsigned below)
{
	uint64_t fp;

	fake_push(ret);
	fake_push(saved_fp);
	fp = fake.top;
	fake_push(sender_sp);
	fake_push(0);
	fake_push(FAKE_METHOD + method * 0x100);
	push_n(4, 0x777);
	fake_push(FAKE_BYTECODES + method * 0x100 + bci);
	push_n(below, 0x888);
	return fp;
}

static void test_interpreted(void **state)
{
	static const uint8_t dispatch[] = {0x41, 0xff, 0x24, 0xda}; /* jmp [r10+rbx*8] */
	uint64_t fp, stub_fp;
	struct walk w;

	(void)state;
	setup();
	fake_bytes(1, 0x50, dispatch, sizeof(dispatch));
	stub_fp = push_base();
	fp = push_interpreted(fake.call_stub_return, stub_fp, fake.top, 2, 9, 3);
	fp = push_interpreted(at(1, 0x50), fp, fake.top, 3, 4, 2);
	set(X86_RIP, at(1, 0x50));
	set(X86_RSP, fake.top);
	set(X86_RBP, fp);
	set(X86_R13, FAKE_BYTECODES + 3 * 0x100 + 0x11);
	set(X86_RBX, 0);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 5);
	expect_key(&w.frames[0], FRAME_INTERPRETED, 0, 3, 0x11); /* live bcp */
	expect_key(&w.frames[1], FRAME_INTERPRETED, 0, 2, 9);
	set(X86_R13, 77); /* scratch: the slot */
	fake_walk(&w);
	expect_key(&w.frames[0], FRAME_INTERPRETED, 0, 3, 4);
}

/* A frame of a class that is no more has no name; what lies outside of it is found. */
static void test_interpreted_lost(void **state)
{
	uint64_t fp, stub_fp;
	struct walk w;

	(void)state;
	setup();
	stub_fp = push_base();
	fp = push_interpreted(fake.call_stub_return, stub_fp, fake.top, 2, 9, 3);
	fp = push_interpreted(at(1, 0x50), fp, fake.top, 20, 4, 2); /* no method is there */
	set(X86_RIP, at(1, 0x50));
	set(X86_RSP, fake.top);
	set(X86_RBP, fp);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_FRAME);
	fake.lost = true;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 5);
	expect_key(&w.frames[0], FRAME_INTERPRETED, 0, 0, 0);
	expect_key(&w.frames[1], FRAME_INTERPRETED, 0, 2, 9);
}

/*
 * While deoptimisation fills the frames that it made, Method*s of others may be in those that it has not
 * reached: they are told by where they will be returned to, whatever the thread does by now.
 */
static void test_interpreted_hollow(void **state)
{
	enum { DEOPT = 9 };
	uint64_t fp, stub_fp;
	struct walk w;

	(void)state;
	setup();
	fake_code(DEOPT, BLOB_DEOPT, 4);
	fake.codelet = STUB_DEOPT_ENTRY;
	fake.codelet_from = 0x60;
	stub_fp = push_base();
	fp = push_interpreted(fake.call_stub_return, stub_fp, fake.top, 2, 9, 3);
	fp = push_interpreted(at(1, 0x50), fp, fake.top, 3, 4, 2);
	fp = push_interpreted(at(1, 0x60), fp, fake.top, 4, 4, 2);
	fake_push(at(1, 0x64));
	fake_push(fp);
	push_n(2, 0x999);
	fake_push(fake_call(DEOPT, 0x40));
	fake_push(0xfeed);
	set(X86_RIP, NATIVE_FRAMED);
	set(X86_RSP, fake.top);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	expect_key(&w.frames[1], FRAME_STUB, 0, DEOPT, 0x40);
	expect_key(&w.frames[2], FRAME_MARK, 0, 0, MARK_DEOPT);
	expect_key(&w.frames[3], FRAME_MARK, 0, 0, MARK_DEOPT);
	expect_key(&w.frames[4], FRAME_INTERPRETED, 0, 2, 9);
	/* All are filled but the innermost, which is to go on there. */
	fake.codelet_from = 0x64;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	expect_key(&w.frames[2], FRAME_MARK, 0, 0, MARK_DEOPT);
	expect_key(&w.frames[3], FRAME_INTERPRETED, 0, 3, 4);
	expect_key(&w.frames[4], FRAME_INTERPRETED, 0, 2, 9);
}

/* pop rax; push 0; push rax; push rbp; mov rbp,rsp; push r13; push 0; mov r13,[rbx+8]; push rbx; nop */
static const uint8_t entry[] = {0x58, 0x6a, 0,    0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x6a,
				0,    0x4c, 0x8b, 0x6b, 8,    0x53, 0x90, 0xff, 0x24, 0xd8};

static void expect_entry(uint32_t off, unsigned method)
{
	struct walk w;

	set(X86_RIP, at(1, 0x400 + off));
	set(X86_RSP, fake.top);
	fake_walk(&w);
	expect_key(&w.frames[0], FRAME_INTERPRETED, 0, method, method == 9 ? FRAME_NO_BCI : 0);
	expect_caller_on(&w, 1);
}

static void test_interpreter_entry(void **state)
{
	uint64_t ret;

	(void)state;
	setup();
	push_caller();
	fake.codelet = STUB_METHOD_ENTRY;
	fake_bytes(1, 0x400, entry, sizeof(entry));
	ret = fake.stack[(fake.top - FAKE_STACK) / 8];
	set(X86_RBX, FAKE_METHOD + 9 * 0x100);
	set(X86_R13, fake.top + 8);
	set(X86_RBP, 0xfeed);
	set(X86_RAX, 0);
	expect_entry(0, 9);
	set(X86_RBX, FAKE_METHOD + 4 * 0x100);
	expect_entry(0, 4);
	set(X86_RAX, ret);
	fake.top += 8;
	expect_entry(1, 4);
	fake_push(0);
	expect_entry(3, 4);
	fake_push(ret);
	set(X86_RAX, 0);
	expect_entry(4, 4);
	fake_push(0xfeed);
	expect_entry(5, 4);
	set(X86_RBP, fake.top);
	expect_entry(8, 4);
	fake_push(fake.regs.r[X86_R13]);
	set(X86_R13, 0);
	expect_entry(10, 4);
	fake_push(0);
	expect_entry(12, 4);
	fake_push(FAKE_METHOD + 4 * 0x100);
	set(X86_RBX, 0);
	push_n(0, 0);
	expect_entry(17, 4);
}

static void test_interpreter_exit(void **state)
{
	/* mov rbx,[rbp-8]; leave; pop r13; mov rsp,rbx; jmp r13 */
	static const uint8_t code[] = {0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5};
	uint64_t ret, sender;
	struct walk w;

	(void)state;
	setup();
	push_caller();
	fake_bytes(1, 0x500, code, sizeof(code));
	ret = fake.stack[(fake.top - FAKE_STACK) / 8];
	sender = fake.top + 8;
	set(X86_RSP, fake.top);
	set(X86_RBP, 0xfeed);
	set(X86_RBX, sender);
	set(X86_RIP, at(1, 0x505)); /* after leave */
	fake_walk(&w);
	expect_caller_on(&w, 0);
	set(X86_R13, ret);
	set(X86_RSP, fake.top + 8);
	set(X86_RIP, at(1, 0x507)); /* after pop r13 */
	fake_walk(&w);
	expect_caller_on(&w, 0);
	set(X86_RBX, 0);
	set(X86_RIP, at(1, 0x50a));
	fake_walk(&w);
	expect_caller_on(&w, 0);
}

static void test_stubs(void **state)
{
	/* push rbp; mov rbp,rsp; push rbx; nop; pop rbx; leave; ret */
	static const uint8_t copy[] = {0x55, 0x48, 0x8b, 0xec, 0x53, 0x90, 0x5b, 0xc9, 0xc3};
	static const uint32_t offs[] = {0, 1, 4, 5, 6, 7, 8};
	static const int pushed[] = {0, 1, 1, 2, 2, 1, 0};
	struct walk w;

	(void)state;
	setup();
	push_caller();
	fake_bytes(STUBS, 0x300, copy, sizeof(copy));
	set(X86_RBX, 1);
	for (unsigned i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		uint64_t sp = fake.top - 8 * (unsigned)pushed[i];

		fake.stack[(fake.top - 8 - FAKE_STACK) / 8] = 0xfeed;
		set(X86_RBP, offs[i] >= 4 && offs[i] < 8 ? fake.top - 8 : 0xfeed);
		set(X86_RSP, sp);
		set(X86_RIP, at(STUBS, 0x300 + offs[i]));
		fake_walk(&w);
		expect_key(&w.frames[0], FRAME_STUB, FRAME_PC_EXACT, STUBS, 0x300 + offs[i]);
		expect_caller_on(&w, 1);
	}
}

static void test_vtable_and_adapter(void **state)
{
	/* pop rax; mov r13,rsp; sub rsp,0x10; mov [rsp],rax; mov rcx,[rbx+0x48]; jmp rcx */
	static const uint8_t c2i[] = {0x58, 0x49, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48,
				      0x89, 4,    0x24, 0x48, 0x8b, 0x4b, 0x48, 0xff, 0xe1};
	/* jne -14; mov rbx,[rax+rbx]; jmp [rbx+0x40] */
	static const uint8_t itable[] = {0x75, 0xf2, 0x48, 0x8b, 0x1c, 0x18, 0xff, 0x63, 0x40};
	struct walk w;
	uint64_t ret;

	(void)state;
	setup();
	push_caller();
	ret = fake.stack[(fake.top - FAKE_STACK) / 8];
	fake_code(VTABLE, BLOB_VTABLE, 0);
	fake_code(ADAPTER, BLOB_ADAPTER, 0);
	fake_bytes(ADAPTER, 0, c2i, sizeof(c2i));
	set(X86_RSP, fake.top);
	set(X86_RIP, at(VTABLE, 0x10));
	fake_walk(&w);
	expect_key(&w.frames[0], FRAME_STUB, FRAME_PC_EXACT, VTABLE, 0x10);
	expect_caller_on(&w, 1);
	fake_bytes(VTABLE, 0x80, itable, sizeof(itable));
	set(X86_RIP, at(VTABLE, 0x80));
	fake_walk(&w);
	expect_key(&w.frames[0], FRAME_STUB, FRAME_PC_EXACT | FRAME_ITABLE, VTABLE, 0x80);
	expect_caller_on(&w, 1);
	set(X86_RIP, at(ADAPTER, 0));
	fake_walk(&w);
	expect_caller_on(&w, 1);
	set(X86_RAX, ret);
	set(X86_RSP, fake.top + 8);
	set(X86_RIP, at(ADAPTER, 1));
	fake_walk(&w);
	expect_caller_on(&w, 1);
	set(X86_R13, fake.top + 8);
	fake.top += 8;
	fake_push(1);
	fake_push(ret);
	set(X86_RSP, fake.top);
	set(X86_RIP, at(ADAPTER, 12));
	fake_walk(&w);
	expect_caller_on(&w, 1); /* the caller's sp is in r13, not behind the return address */
}

static void test_static_call_stub(void **state)
{
	/* movabs rbx; jmp: entered by the method's own call */
	static const uint8_t stub[] = {0x48, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0xe9, 0, 0, 1, 0};
	static const struct code_record record = {0x80, 1, true};
	uint64_t fp;
	struct walk w;

	(void)state;
	setup();
	fp = push_base();
	fake_push(fake.call_stub_return);
	fake_push(fp);
	push_n(CALLER_WORDS - 2, 0x111);
	fake_push(fake_call(CALLER, 0x80));
	fake.code[CALLER].stub_begin = 0x7f0;
	fake_bytes(CALLER, 0x800, stub, sizeof(stub));
	fake.code[CALLER].records = &record;
	fake.code[CALLER].n_records = 1;
	set(X86_RSP, fake.top);
	set(X86_RIP, at(CALLER, 0x800));
	fake_walk(&w);
	expect_caller_on(&w, 0);
	set(X86_RIP, at(CALLER, 0x80a));
	fake_walk(&w);
	expect_caller_on(&w, 0);
}

static void test_anchor(void **state)
{
	struct walk w;
	uint64_t sp;

	(void)state;
	setup();
	push_caller();
	sp = fake.top + 8;
	push_n(10, 0x999);
	fake_push(fake_native_call(NATIVE_NO_ROWS)); /* perhaps of a frame between */
	push_n(10, 0x999);
	set(X86_RIP, NATIVE_NO_ROWS);
	set(X86_RSP, fake.top);
	set(X86_RBP, 0x1234);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI); /* not a Java thread */
	fake.has_thread = true;
	fake.anchor = (struct hs_anchor){sp, at(CALLER, 0x80), 0};
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_true(w.resynchronised);
	expect_key(&w.frames[1], FRAME_COMPILED, 0, CALLER, 0x80);
	fake.anchor.pc = 0; /* it stands below the sp */
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	fake.anchor.sp = fake.top - 64; /* further in than we are: stale */
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI);
	fake.anchor.sp = FAKE_STACK_END + 8;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI);
	fake.anchor = (struct hs_anchor){sp, 0x4242, 0};
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI);
}

/* In execve() the old program's registers are there still, its memory is not. */
static void test_between_two_programs(void **state)
{
	struct walk w;

	(void)state;
	setup();
	fake.kernel[0] = 0xffffffff81000000;
	fake.n_kernel = 1;
	fake.copied = 0;
	set(X86_RIP, 0x600000000000);
	set(X86_RSP, 0x600000001000);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_USER);
	assert_int_equal(w.n, 1);
	/* Not in the kernel: a jump to nowhere. */
	fake.n_kernel = 0;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_PC);
}

static enum walk_end end_without_rows(const char *dso, uint64_t fp, uint64_t rax)
{
	static const uint8_t syscall[] = {0x0f, 0x05, 0x48, 0x85, 0xc0};
	struct walk w;

	setup();
	push_n(4, 0x777);
	fake_native_bytes(NATIVE_NO_ROWS - sizeof(syscall), syscall, sizeof(syscall));
	fake.dso_name = dso;
	set(X86_RIP, NATIVE_NO_ROWS);
	set(X86_RSP, fake.top);
	set(X86_RBP, fp);
	set(X86_RAX, rax);
	fake_walk(&w);
	return w.end;
}

/* Where programs and threads begin in glibc there are no rows. */
static void test_first_functions_without_rows(void **state)
{
	(void)state;
	assert_int_equal(end_without_rows("ld-linux-x86-64.so.2", 0, 1), WALK_ROOT);
	assert_int_equal(end_without_rows("ld-linux-x86-64.so.2", 0x1234, 1), WALK_NO_CFI);
	assert_int_equal(end_without_rows("libfake.so", 0, 0), WALK_NO_CFI);
	/* The new thread of clone3(), and the one that called it. */
	assert_int_equal(end_without_rows("libc.so.6", 0x1234, 0), WALK_ROOT);
	assert_int_equal(end_without_rows("libc.so.6", 0x1234, 4711), WALK_NO_CFI);
}

/* The anchor is the caller of what cannot be left: no other return address lies in front of it. */
static void test_anchor_is_caller(void **state)
{
	struct walk w;
	uint64_t sp;

	(void)state;
	setup();
	push_caller();
	sp = fake.top + 8;
	push_n(20, 0x999);
	set(X86_RIP, NATIVE_NO_ROWS);
	set(X86_RSP, fake.top);
	fake.has_thread = true;
	fake.anchor = (struct hs_anchor){sp, at(CALLER, 0x80), 0};
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_false(w.resynchronised);
	expect_key(&w.frames[1], FRAME_COMPILED, 0, CALLER, 0x80);
	for (uint64_t gap = 0; gap < 20; gap++) {
		uint64_t addr = fake.top + 8 * gap, *word = &fake.stack[(addr - FAKE_STACK) / 8], old = *word;

		*word = gap % 2 ? fake_native_call(NATIVE_NO_ROWS) : fake_call(LEAF, 0x40);
		fake_walk(&w);
		assert_int_equal(w.end, WALK_ROOT);
		assert_true(w.resynchronised);
		*word = old;
	}
	push_n(512, 0x999); /* too far to be looked through */
	set(X86_RSP, fake.top);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_true(w.resynchronised);
}

/* Native code without rows between two stretches of Java: the older anchor is in the wrapper. */
static void test_wrapper_anchor(void **state)
{
	uint64_t outer_sp, fp;
	struct walk w;

	(void)state;
	setup();
	push_caller();
	outer_sp = fake.top + 8;
	push_n(10, 0x999);
	fake_push(fake_native_call(NATIVE_NO_ROWS));
	fake_push(0x77); /* rbp of the C++ code leads nowhere */
	fp = fake.top;
	push_n(12, 0x5a5a58);
	fake_push(fake.call_stub_return);
	set(X86_RIP, at(LEAF, 0));
	set(X86_RSP, fake.top);
	set(X86_RBP, fp);
	fake.has_thread = true;
	fake.anchor = (struct hs_anchor){0, 0, 0};
	fake.wrapper_anchor = (struct hs_anchor){outer_sp, at(CALLER, 0x80), 0};
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_false(w.resynchronised); /* it called the C++ code: nothing lies between */
	assert_int_equal(w.n, 7);
	fake.wrapper_anchor.sp = 0; /* no older Java frame */
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI);
}

static void test_return_barrier(void **state)
{
	struct code *c;
	uint64_t fp, entry_sp;
	struct walk w;

	(void)state;
	setup();
	fake_code(CONT, BLOB_STUBS, 0)->role = STUB_CONTINUATION;
	c = fake_code(ENTER_SPECIAL, BLOB_NATIVE, 10);
	fp = push_base();
	fake_push(fake.call_stub_return);
	fake_push(fp);
	push_n(CALLER_WORDS - 2, 0x111);
	fake_push(fake_call(CALLER, 0x80));
	fake_push(0xfeed);
	push_n(8, 0x222);
	entry_sp = fake.top;
	fake_push(at(CONT, 0x40));
	set(X86_RIP, at(LEAF, 0));
	set(X86_RSP, fake.top);
	fake.has_thread = true;
	fake.barrier = at(CONT, 0x40);
	fake.cont_entry = entry_sp;
	fake.cont_return = c->begin + 0x60;
	fake_walk(&w);
	assert_true(w.frozen);
	expect_key(&w.frames[1], FRAME_COMPILED, 0, ENTER_SPECIAL, 0x60);
	expect_caller_on(&w, 2);
	fake.cont_entry = 0; /* not known: what there was is reported */
	fake_walk(&w);
	assert_true(w.frozen);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 1);
}

/* A leaf call without a record, around which registers were pushed: the way to the return tells. */
static void test_leaf_call_with_pushes(void **state)
{
	/* push rax x 8; call; pop rax x 8; add rsp,0x20; pop rbp; ret */
	static const uint8_t body[] = {0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0xe8,
				       0,    0,    0,    0x10, 0x58, 0x58, 0x58, 0x58, 0x58,
				       0x58, 0x58, 0x58, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
	struct walk w;

	(void)state;
	setup();
	fake_bytes(LEAF, 0x100, body, sizeof(body));
	push_caller();
	fake_push(0xfeed);
	push_n(4, 0x222);
	push_n(8, fake_call(CALLER, 0x80)); /* looks like return addresses */
	walk_leaf(0x108, &w);
	fake_push(at(LEAF, 0x10d));
	fake_push(0);
	set(X86_RIP, NATIVE_FRAMED);
	set(X86_RSP, fake.top);
	fake_walk(&w);
	expect_key(&w.frames[1], FRAME_COMPILED, 0, LEAF, 0x10d);
	expect_caller_on(&w, 2);
}

/* A poll: its record makes it a return address, though no call stands before it. */
static void test_poll_record(void **state)
{
	static const struct code_record record[] = {{0x40, 1, true}, {0x150, 1, true}};
	struct walk w;

	(void)state;
	setup();
	push_caller();
	fake.stack[(fake.top - FAKE_STACK) / 8] = at(CALLER, 0x150);
	set(X86_RIP, at(LEAF, 0));
	set(X86_RSP, fake.top);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_FRAME);
	setup();
	push_caller();
	fake.stack[(fake.top - FAKE_STACK) / 8] = at(CALLER, 0x150);
	fake.code[CALLER].records = record;
	fake.code[CALLER].n_records = 2;
	set(X86_RIP, at(LEAF, 0));
	set(X86_RSP, fake.top);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	expect_key(&w.frames[1], FRAME_COMPILED, 0, CALLER, 0x150);
}

/* resolve_static_call and its like: jmp rax to the method, with an old return address in rdx */
static void test_call_resolution(void **state)
{
	static const uint8_t code[] = {0x90, 0xff, 0xe0};
	struct walk w;

	(void)state;
	setup();
	push_caller();
	fake_code(ADAPTER, BLOB_RUNTIME, 40);
	fake_bytes(ADAPTER, 0x200, code, sizeof(code));
	set(X86_RIP, at(ADAPTER, 0x200));
	set(X86_RSP, fake.top);
	set(X86_RAX, at(LEAF, 0));
	set(X86_RDX, fake_call(CALLER, 0x300));
	fake_walk(&w);
	expect_caller_on(&w, 1);
}

static void test_signal_frame(void **state)
{
	struct walk w;
	uint64_t rsp;

	(void)state;
	setup();
	push_caller();
	rsp = fake.top;
	/* The interrupted pc is exact: the frame of LEAF is not there yet at its first instruction. */
	fake_push(at(LEAF, 0));
	push_n(3, 0);
	set(X86_RIP, NATIVE_SIGNAL);
	set(X86_RSP, fake.top);
	assert_int_equal(fake.top + 32, rsp);
	fake_walk(&w);
	expect_key(&w.frames[0], FRAME_NATIVE, FRAME_PC_EXACT, 3, 0x4100);
	expect_key(&w.frames[1], FRAME_COMPILED, FRAME_PC_EXACT, LEAF, 0);
	expect_caller_on(&w, 2);
}

static void test_anonymous_code(void **state)
{
	struct walk w;
	uint64_t fp;

	(void)state;
	setup();
	push_n(4, 0);
	fake_push(fake_native_call(NATIVE_ROOT));
	fake_push(0);
	fp = fake.top;
	push_n(5, 0x999);
	set(X86_RIP, NATIVE_ANON);
	set(X86_RSP, fake.top);
	set(X86_RBP, fp);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	expect_key(&w.frames[0], FRAME_ANON, FRAME_PC_EXACT, 0, (int64_t)NATIVE_ANON);
	set(X86_RBP, 0x1000); /* no frame pointer */
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_CFI);
}

static void test_ends(void **state)
{
	struct walk w;

	(void)state;
	setup();
	set(X86_RSP, FAKE_STACK + 4096);
	set(X86_RIP, NATIVE_STUCK);
	fake.stack[512] = NATIVE_STUCK;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_PROGRESS);
	set(X86_RIP, 17);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_PC);
	set(X86_RIP, UINT64_C(0x123400000000));
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_PC);
	set(X86_RIP, at(12, 0));
	fake_walk(&w);
	assert_int_equal(w.end, WALK_NO_BLOB);
	set(X86_RIP, at(LEAF, 0x100));
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_FRAME);
	set(X86_RIP, NATIVE_FRAMED);
	set(X86_RSP, 0x1000);
	fake_walk(&w);
	assert_int_equal(w.end, WALK_BAD_MEMORY);
	set(X86_RIP, NATIVE_ROOT);
	fake.bad_walk_ends = 1;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	fake.bad_walk_ends = 5;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	fake.bad_walk_ends = 6;
	fake_walk(&w);
	assert_int_equal(w.end, WALK_CHANGED);
}

static void test_kernel_frames(void **state)
{
	struct walk w;

	(void)state;
	setup();
	fake.kernel[0] = 0xffffffff81000000;
	fake.kernel[1] = 0xffffffff81000100;
	fake.n_kernel = 2;
	set(X86_RIP, NATIVE_ROOT);
	set(X86_RSP, FAKE_STACK);
	fake_walk(&w);
	assert_int_equal(w.n, 3);
	expect_key(&w.frames[1], FRAME_KERNEL, 0, 0, (int64_t)0xffffffff81000100);
}

static void push_recursion(unsigned n)
{
	push_caller();
	fake.code[LEAF].records = &calls_itself;
	fake.code[LEAF].n_records = 1;
	for (unsigned i = 0; i < n; i++) {
		push_n(LEAF_WORDS - 1, 0x111);
		fake_push(fake_call(LEAF, 0x180));
	}
	set(X86_RIP, at(LEAF, 0));
	set(X86_RSP, fake.top);
}

static unsigned long allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	allocations++;
	return __real_realloc(p, size);
}

static void walk_without_malloc(struct walk *w)
{
	unsigned long before = allocations;

	fake_walk(w);
	assert_int_equal(allocations, before);
}

/* Deep stacks, whole or partly from memory; and one that is too deep. Nothing is allocated for them. */
static void test_deep(void **state)
{
	struct walk w;

	(void)state;
	setup();
	push_recursion(20000);
	fake.copied = 16384;
	walk_without_malloc(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 20005);
	setup();
	push_recursion(70000);
	walk_without_malloc(&w);
	assert_int_equal(w.end, WALK_TOO_DEEP);
	assert_int_equal(w.n, 65536);
}

/* Any registers, any stack: always an end. */
static void test_garbage(void **state)
{
	uint64_t x = 88172645463325252ull;
	struct walk w;

	(void)state;
	setup();
	push_caller();
	for (unsigned i = 1; i < 9; i++)
		fake_code(i, (enum blob_kind)(i - 1), (int)i);
	for (int round = 0; round < 20000; round++) {
		for (unsigned i = 0; i < 64; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			fake.stack[256 + i] = x % 4 == 0 ? FAKE_CACHE + x % (9 * FAKE_CODE_SIZE) :
					      x % 4 == 1 ? FAKE_STACK + x % 4096 / 8 * 8 :
					      x % 4 == 2 ? FAKE_NATIVE + x % 0x6000 :
							   x;
			fake.bytes[x % 9][x / 16 % FAKE_CODE_SIZE] = (uint8_t)(x >> 32);
		}
		for (unsigned i = 0; i < X86_REGS; i++)
			set(i, fake.stack[256 + (x >> i) % 64]);
		set(X86_RSP, FAKE_STACK + 2048 + x % 512);
		fake.has_thread = x % 2;
		fake.anchor = (struct hs_anchor){fake.stack[300], fake.stack[301], fake.stack[302]};
		fake.wrapper_anchor = fake.anchor;
		fake_walk(&w);
		assert_in_range(w.end, 0, WALK_ENDS - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compiled_leaf),
		cmocka_unit_test(test_compiled_shifted),
		cmocka_unit_test(test_compiled_shifted_over_stale),
		cmocka_unit_test(test_patched_entry),
		cmocka_unit_test(test_rbp_store_behind_complete),
		cmocka_unit_test(test_osr_prologue),
		cmocka_unit_test(test_deopted_return_address),
		cmocka_unit_test(test_interpreted),
		cmocka_unit_test(test_interpreted_lost),
		cmocka_unit_test(test_interpreted_hollow),
		cmocka_unit_test(test_interpreter_entry),
		cmocka_unit_test(test_interpreter_exit),
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_vtable_and_adapter),
		cmocka_unit_test(test_static_call_stub),
		cmocka_unit_test(test_anchor),
		cmocka_unit_test(test_between_two_programs),
		cmocka_unit_test(test_first_functions_without_rows),
		cmocka_unit_test(test_anchor_is_caller),
		cmocka_unit_test(test_wrapper_anchor),
		cmocka_unit_test(test_return_barrier),
		cmocka_unit_test(test_leaf_call_with_pushes),
		cmocka_unit_test(test_poll_record),
		cmocka_unit_test(test_call_resolution),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_anonymous_code),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_kernel_frames),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
