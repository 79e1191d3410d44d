#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/hotspot/objects/frozen_copy.h"
#include "symbolizer/hotspot/objects/hs_frozen.h"
#include "symbolizer/target/arch.h"
#include "unwind_fake.h"

/* A virtual thread: one frame on the carrier's stack, three in a copy of the heap, then the carrier's own. */
enum { LEAF = 2, CARRIER = 3, CONT = 7, ENTER_SPECIAL = 8, COMPILED = 9, ENTER = 10, NATIVE = 11 };
enum { WORDS = 8, ENTER_METHOD = 5, INTERPRETED_METHOD = 6 };
/* Words of the chunk: two that belong to no frame, then the frames from SP on. */
enum { SP = 10, INTERPRETED_FP = 30, ENTER_SP = 32, BOTTOM = 40, SIZE = 41 };

static const struct code_record record = {.pc_offset = 0x80, .scope_offset = 17, .safepoint = true};

static struct {
	uint64_t entry;
	struct frozen_head head;
	uint64_t words[SIZE - SP + CHUNK_BELOW];
	uint8_t more[8];
} copy; /* without gaps */

static struct code *compiled(unsigned id, uint32_t method)
{
	struct code *c = fake_code(id, BLOB_NMETHOD, WORDS);

	memset(fake.bytes[id], 0x90, FAKE_CODE_SIZE);
	c->records = &record;
	c->n_records = 1;
	c->method_id = method;
	return c;
}

static uint64_t *word_at(int index)
{
	return &copy.words[index - SP + CHUNK_BELOW];
}

/* A compiled frame, an interpreted one with a caller whose arguments it took over, Continuation.enter. */
static void fill_copy(uint64_t entry)
{
	memset(&copy, 0, sizeof(copy));
	copy.entry = entry;
	copy.head = (struct frozen_head){.sp = SP, .bottom = BOTTOM, .size = SIZE};
	*word_at(SP - 1) = fake_call(COMPILED, 0x80);
	*word_at(SP + WORDS - 1) = FAKE_CACHE + FAKE_CODE_SIZE + 0x10; /* the interpreter */
	*word_at(SP + WORDS - 2) = INTERPRETED_FP - (SP + WORDS - 2);
	*word_at(INTERPRETED_FP - 1) = ENTER_SP - INTERPRETED_FP;
	*word_at(INTERPRETED_FP - 3) = FAKE_METHOD + INTERPRETED_METHOD * 0x100;
	*word_at(INTERPRETED_FP - 7) = 2; /* locals */
	*word_at(INTERPRETED_FP - 8) = FAKE_BYTECODES + INTERPRETED_METHOD * 0x100 + 0x21;
	*word_at(INTERPRETED_FP + 1) = fake_call(ENTER, 0x80);
	fake.frozen = (const uint8_t *)&copy;
	fake.frozen_len = sizeof(copy) - sizeof(copy.more);
}

static void push_n(int n, uint64_t word)
{
	while (n-- > 0)
		fake_push(word);
}

static void setup(void)
{
	uint64_t entry;

	fake_reset();
	compiled(LEAF, 1)->frame_complete = 0x40;
	compiled(CARRIER, 2);
	compiled(COMPILED, 3);
	compiled(ENTER, ENTER_METHOD);
	fake_code(NATIVE, BLOB_NATIVE, WORDS);
	fake_code(CONT, BLOB_STUBS, 0)->role = STUB_CONTINUATION;
	fake_code(ENTER_SPECIAL, BLOB_NATIVE, 10);
	fake.enter = ENTER_METHOD;
	fake.has_thread = true;
	fake.copied = SIZE_MAX;
	fake_push(0);
	fake_push(fake_native_call(NATIVE_ROOT));
	fake_push(0);
	push_n(WORDS - 2, 0x111);
	fake_push(fake_call(CARRIER, 0x80));
	fake_push(0xfeed);
	push_n(8, 0x222);
	entry = fake.top;
	fake.barrier = fake_call(CONT, 0x40);
	fake.cont_return = fake_call(ENTER_SPECIAL, 0x60);
	fake.cont_entry = 0; /* unmounted by now: the copy knows */
	fake_push(fake.barrier);
	regs_set(&fake.regs, X86_RIP, FAKE_CACHE + LEAF * FAKE_CODE_SIZE);
	regs_set(&fake.regs, X86_RSP, fake.top);
	fill_copy(entry);
}

static void expect(const struct frame_key *k, enum frame_kind kind, uint32_t id, int64_t off)
{
	assert_int_equal(k->kind, kind);
	assert_int_equal(k->id, id);
	assert_int_equal(k->off, off);
}

static void test_whole(void **state)
{
	struct walk w;

	(void)state;
	setup();
	fake_walk(&w);
	assert_int_equal(w.end, WALK_ROOT);
	assert_false(w.frozen);
	assert_int_equal(w.n, 7);
	expect(&w.frames[0], FRAME_COMPILED, LEAF, 0);
	expect(&w.frames[1], FRAME_COMPILED, COMPILED, 0x80);
	expect(&w.frames[2], FRAME_INTERPRETED, INTERPRETED_METHOD, 0x21);
	expect(&w.frames[3], FRAME_COMPILED, ENTER, 0x80);
	expect(&w.frames[4], FRAME_COMPILED, ENTER_SPECIAL, 0x60);
	expect(&w.frames[5], FRAME_COMPILED, CARRIER, 0x80);
}

/* The frames of the heap are all there or none; the virtual thread's own part always is. */
static void expect_frozen(void)
{
	struct walk w;

	fake_walk(&w);
	assert_true(w.frozen);
	assert_int_equal(w.end, WALK_ROOT);
	assert_int_equal(w.n, 1);
}

static void test_doubt(void **state)
{
	static const struct {
		int index;
		uint64_t word;
		/* clang-format off */
	} bad[] = {
		{SP - 1, 0}, /* no pc */
		{SP - 1, FAKE_CACHE + COMPILED * FAKE_CODE_SIZE + 0x81}, /* no record there */
		{SP - 1, FAKE_CACHE + NATIVE * FAKE_CODE_SIZE + 0x80}, /* no frame that can be frozen here */
		{SP - 1, FAKE_CACHE + 15 * FAKE_CODE_SIZE}, /* no code */
		{SP + WORDS - 2, 0}, {SP + WORDS - 2, UINT64_MAX}, {SP + WORDS - 2, SIZE},
		{SP + WORDS - 2, UINT64_C(1) << 63},
		{INTERPRETED_FP - 1, 0}, {INTERPRETED_FP - 1, UINT64_C(1) << 63}, {INTERPRETED_FP - 1, SIZE},
		{INTERPRETED_FP - 3, 0}, {INTERPRETED_FP - 7, 0}, {INTERPRETED_FP - 7, SIZE},
		{INTERPRETED_FP - 7, BOTTOM - INTERPRETED_FP}, /* the last one of the chunk, which it is not */
		{INTERPRETED_FP - 8, FAKE_BYTECODES}, /* another method's bytecodes */
		{INTERPRETED_FP + 1, FAKE_CACHE + COMPILED * FAKE_CODE_SIZE + 0x80}, /* not the first of all */
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setup();
		fake_call(COMPILED, 0x80);
		*word_at(bad[i].index) = bad[i].word;
		expect_frozen();
	}
}

static void test_malformed(void **state)
{
	static const struct frozen_head bad[] = {
		{0, BOTTOM, SIZE, 0},        {SP, SP, SIZE, 0},         {SP, SIZE + 1, SIZE, 0},
		{SP, BOTTOM, SIZE + 1, 0},   {SP, BOTTOM - 1, SIZE, 0}, {SP + 1, BOTTOM, SIZE, 0},
		{SP, BOTTOM, UINT32_MAX, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setup();
		copy.head = bad[i];
		expect_frozen();
	}
	setup();
	for (size_t n = sizeof(copy) - sizeof(copy.more); n-- > 0;) {
		fake.frozen_len = n;
		expect_frozen();
	}
	fake.frozen_len = sizeof(copy);
	expect_frozen();
}

static uint32_t next_random(void)
{
	static uint32_t x = 1;

	return x = x * 1664525 + 1013904223;
}

/* A copy from a file may hold anything: it ends, and nothing is read that is not there. */
static void test_garbage(void **state)
{
	struct walk w;
	size_t size = sizeof(copy) - sizeof(copy.more);

	(void)state;
	setup();
	for (int i = 0; i < 20000; i++) {
		uint8_t *exact;

		fill_copy(copy.entry);
		for (uint32_t n = next_random() % 4; n < 4; n++) {
			uint64_t word = next_random() % 2 ? next_random() % 64 : (uint64_t)next_random() << 32;

			memcpy((uint8_t *)&copy + next_random() % (size - 7), &word, 1 + next_random() % 8);
		}
		fake.frozen_len = next_random() % 4 ? size : next_random() % size;
		exact = malloc(fake.frozen_len ? fake.frozen_len : 1); /* what lies behind it is poisoned by ASan */
		assert_non_null(exact);
		memcpy(exact, &copy, fake.frozen_len);
		fake.frozen = exact;
		fake_walk(&w);
		assert_true(w.n >= 1);
		free(exact);
		copy.entry = fake.top + 8; /* as it was */
	}
}

/* Frames that are being frozen may be on the stack and in the heap. */
static void test_freezing(void **state)
{
	struct walk w;

	(void)state;
	setup();
	push_n(WORDS - 1, 0x333);
	fake_push(fake_call(NATIVE, 0x80));
	regs_set(&fake.regs, X86_RSP, fake.top);
	fake_walk(&w);
	assert_false(w.frozen);
	fake.code[NATIVE].role = STUB_DO_YIELD;
	fake_walk(&w);
	assert_true(w.frozen);
	assert_int_equal(w.n, 2);
}

/* The outermost frame on the stack is of method 1, the first of the chunk of method 3, the next one of method 6. */
static void test_caller(void **state)
{
	struct walk w;

	(void)state;
	setup();
	fake.caller = 3;
	fake.caller_bci = record.scope_offset;
	fake.callee = 1;
	fake_walk(&w);
	assert_false(w.frozen);
	fake.callee = 2; /* doYield, where the thread has parked again */
	expect_frozen();
	fake.linker = 2;
	fake_walk(&w);
	assert_false(w.frozen);
	/* Within a chunk, nothing was joined. */
	fake.linker = 0;
	fake.caller = INTERPRETED_METHOD;
	fake.caller_bci = 0x21;
	fake_walk(&w);
	assert_false(w.frozen);
	/* An interpreted frame comes first. */
	copy.head.sp = SP + WORDS;
	memmove(copy.words, copy.words + WORDS, sizeof(copy.words) - WORDS * 8);
	fake.frozen_len -= WORDS * 8;
	expect_frozen();
	fake.callee = 1;
	fake_walk(&w);
	assert_false(w.frozen);
}

/* Without a copy, an entry of another moment leads nowhere: that is no broken stack. */
static void test_stale_entry(void **state)
{
	struct walk w;

	(void)state;
	setup();
	fake.frozen_len = 0;
	fake.cont_entry = copy.entry;
	fake_walk(&w);
	assert_true(w.frozen);
	assert_int_equal(w.n, 4);
	fake.cont_entry += 8;
	expect_frozen();
	/* One in whose frame there is a return address, but no way on from it. */
	fake.cont_entry = copy.entry + 8;
	fake.stack[(copy.entry + 8 - FAKE_STACK) / 8 + 9] = fake_call(CARRIER, 0x80);
	fake.stack[(copy.entry + 8 - FAKE_STACK) / 8 + 9 + WORDS] = 5;
	expect_frozen();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),   cmocka_unit_test(test_doubt),    cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_garbage), cmocka_unit_test(test_freezing), cmocka_unit_test(test_stale_entry),
		cmocka_unit_test(test_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
