#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "symbolizer/hotspot/objects/frozen_copy.h"
#include "symbolizer/hotspot/objects/hs_frozen.h"
#include "symbolizer/hotspot/objects/hs_virtual.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"

/*
 * A mounted virtual thread in an array: JavaThread, ContinuationEntry, Continuation, chunks. What links the chunks
 * is the Java program's to set.
 */
enum {
	THREAD = 0x100,
	OS_THREAD = 0x200,
	ENTRY = 0x300,
	CONTINUATION = 0x400,
	CONT_KLASS = 0x500,
	CHUNK_KLASS = 0x600,
	POOL = 0x700, /* of both classes */
	CONT_FIELDS = 0x800,
	CHUNK_FIELDS = 0x880,
	VM_SYMBOLS = 0x900, /* names of injected fields */
	SYMBOL = 0xa00, /* 0x80 each */
	CHUNK = 0x2000, /* CHUNK_BYTES each */
	CHUNK_BYTES = 0x200,
	CHUNKS = 100,
	MEMORY = CHUNK + CHUNKS * CHUNK_BYTES,
};
enum { IN_JAVA = 8, TID = 77, ENTRY_AT = 40, POOL_HEADER = 16, HEAD_WORDS = 64, WORDS = 10, SP = 4 };
enum { AT_TAIL = 16, AT_PARENT = 16, AT_SIZE = 24, AT_SP = 28, AT_BOTTOM = 32, AT_OWNER = 40 };
enum {
	CONT_NAME = 1,
	CHUNK_NAME,
	TAIL_NAME,
	CHUNK_SIG,
	PARENT_NAME,
	SIZE_NAME,
	INT_SIG,
	SP_NAME,
	BOTTOM_NAME,
	OWNER_NAME
};
enum { OWNER_SYMBOL = 7 }; /* in VM_SYMBOLS */
#define BASE UINT64_C(0x10000000)

static struct {
	uint8_t bytes[MEMORY];
	struct mem mem;
	uint64_t reads;
	uint64_t moves; /* this reference is another one after the first frames were read; 0: none */
	struct hotspot hs;
	struct jvm jvm;
} fake;

static void put(uint64_t at, uint64_t v, size_t width)
{
	memcpy(fake.bytes + at, &v, width);
}

static uint64_t chunk_at(unsigned i)
{
	return CHUNK + i * CHUNK_BYTES;
}

static size_t fake_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	(void)m;
	fake.reads++;
	if (addr < BASE || addr - BASE > MEMORY || MEMORY - (addr - BASE) < len)
		return 0;
	memcpy(dst, fake.bytes + (addr - BASE), len);
	if (fake.moves && addr >= BASE + CHUNK && len > 8)
		put(fake.moves, BASE + chunk_at(2), 8);
	return len;
}

static void fake_free(struct mem *m)
{
	(void)m;
}

static const struct mem_ops fake_ops = {.read = fake_read, .free = fake_free};

static void put_symbol(unsigned index, const char *text)
{
	uint64_t at = SYMBOL + index * 0x80;

	put(at, strlen(text), 2);
	memcpy(fake.bytes + at + 8, text, strlen(text));
	put(POOL + POOL_HEADER + 8 * index, BASE + at, 8);
}

/* utilities/unsigned5.hpp; small numbers only */
static void put_number(uint64_t array, unsigned v)
{
	uint32_t n;

	memcpy(&n, fake.bytes + array, 4);
	fake.bytes[array + 4 + n] = (uint8_t)(v + 1);
	put(array, n + 1, 4);
}

/* oops/fieldInfo.hpp from JDK 21 on: name, signature, offset, access, flags. */
static void put_field(uint64_t array, unsigned name, unsigned sig, unsigned offset)
{
	put_number(array, name);
	put_number(array, sig);
	put_number(array, offset);
	put_number(array, 0);
	put_number(array, 0);
}

static void put_class(uint64_t klass, unsigned name, uint64_t fields)
{
	put(klass + 8, BASE + SYMBOL + name * 0x80, 8);
	put(klass + 24, BASE + POOL, 8);
	put(klass + 32, BASE + fields, 8);
	put(klass + 40, HEAD_WORDS, 4);
}

static void put_chunk(unsigned i, bool empty, uint64_t parent)
{
	uint64_t at = chunk_at(i);

	put(at + 8, BASE + CHUNK_KLASS, 8);
	put(at + AT_PARENT, parent, 8);
	put(at + AT_SIZE, WORDS, 4);
	put(at + AT_SP, empty ? WORDS : SP, 4);
	put(at + AT_BOTTOM, WORDS, 4);
	put(at + AT_OWNER, BASE + CONTINUATION, 8);
}

static struct hs_field field(uint64_t at, uint8_t width)
{
	return (struct hs_field){at, width, true, false};
}

static void layout_fill(struct hs_layout *l)
{
	l->jt_state = field(16, 4);
	l->jt_osthread = field(24, 8);
	l->os_tid = field(8, 4);
	l->oop_klass = field(8, 8);
	l->klass_name = field(8, 8);
	l->klass_super = field(16, 8);
	l->klass_constants = field(24, 8);
	l->klass_field_stream = field(32, 8);
	l->vm_symbols = field(BASE + VM_SYMBOLS, 8);
	l->klass_layout_helper = field(40, 4);
	l->cp_length = field(8, 4);
	l->symbol_length = field(0, 2);
	l->symbol_body = field(8, 8);
	l->size.constant_pool = POOL_HEADER;
	l->c.thread_in_java = (struct hs_constant){IN_JAVA, true};
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.mem.ops = &fake_ops;
	fake.hs.jvm = &fake.jvm;
	fake.jvm.mem = &fake.mem;
	fake.jvm.version.major = 21;
	fake.jvm.heap_mode.known = true;
	layout_fill(&fake.jvm.l);
	fake.jvm.l.jt_cont_entry = field(ENTRY_AT, 8);
	put(THREAD + 16, IN_JAVA, 4);
	put(THREAD + 24, BASE + OS_THREAD, 8);
	put(THREAD + ENTRY_AT, BASE + ENTRY, 8);
	put(OS_THREAD + 8, TID, 4);
	put(ENTRY + HS_ENTRY_CONTINUATION, BASE + CONTINUATION, 8);
	put(CONTINUATION + 8, BASE + CONT_KLASS, 8);
	put(CONTINUATION + AT_TAIL, BASE + chunk_at(0), 8);
	put(POOL + 8, OWNER_NAME + 1, 4);
	put_symbol(CONT_NAME, "jdk/internal/vm/Continuation");
	put_symbol(CHUNK_NAME, "jdk/internal/vm/StackChunk");
	put_symbol(TAIL_NAME, "tail");
	put_symbol(CHUNK_SIG, "Ljdk/internal/vm/StackChunk;");
	put_symbol(PARENT_NAME, "parent");
	put_symbol(SIZE_NAME, "size");
	put_symbol(INT_SIG, "I");
	put_symbol(SP_NAME, "sp");
	put_symbol(BOTTOM_NAME, "bottom");
	put_symbol(OWNER_NAME, "cont");
	put(VM_SYMBOLS + 8 * OWNER_SYMBOL, BASE + SYMBOL + OWNER_NAME * 0x80, 8);
	put_class(CONT_KLASS, CONT_NAME, CONT_FIELDS);
	put_class(CHUNK_KLASS, CHUNK_NAME, CHUNK_FIELDS);
	put_number(CONT_FIELDS, 1);
	put_number(CONT_FIELDS, 0);
	put_field(CONT_FIELDS, TAIL_NAME, CHUNK_SIG, AT_TAIL);
	put_number(CHUNK_FIELDS, 4);
	put_number(CHUNK_FIELDS, 1);
	put_field(CHUNK_FIELDS, PARENT_NAME, CHUNK_SIG, AT_PARENT);
	put_field(CHUNK_FIELDS, SIZE_NAME, INT_SIG, AT_SIZE);
	put_field(CHUNK_FIELDS, SP_NAME, INT_SIG, AT_SP);
	put_field(CHUNK_FIELDS, BOTTOM_NAME, INT_SIG, AT_BOTTOM);
	put_field(CHUNK_FIELDS, OWNER_SYMBOL, OWNER_SYMBOL, AT_OWNER);
	return 0;
}

static size_t copy(void)
{
	static uint8_t dst[1 << 16];
	struct hs_frozen *f = hs_frozen_new(&fake.hs, &fake.mem);
	size_t n;

	assert_non_null(f);
	n = hs_frozen_copy(f, BASE + THREAD, TID, dst, sizeof(dst));
	assert_false(hs_frozen_hopeless(f));
	hs_frozen_free(f);
	return n;
}

enum { CHUNK_COPIED = sizeof(struct frozen_head) + 8 * (WORDS - SP + CHUNK_BELOW) };

static void test_chunks(void **state)
{
	(void)state;
	put_chunk(0, true, BASE + chunk_at(1));
	put_chunk(1, false, BASE + chunk_at(2));
	put_chunk(2, false, 0);
	assert_int_equal(copy(), FROZEN_ENTRY + 2 * CHUNK_COPIED);
}

/* Where a chunk was before the collector moved it, there may be another thread's. */
static void test_foreign_chunk(void **state)
{
	(void)state;
	for (unsigned foreign = 0; foreign < 3; foreign++) {
		put_chunk(0, true, BASE + chunk_at(1));
		put_chunk(1, false, BASE + chunk_at(2));
		put_chunk(2, false, 0);
		put(chunk_at(foreign) + AT_OWNER, BASE + CONTINUATION + 0x80, 8);
		assert_int_equal(copy(), 0);
	}
}

/* While the frames were copied, the outer chunk moved. */
static void test_parent_moves(void **state)
{
	(void)state;
	put_chunk(0, false, BASE + chunk_at(1));
	put_chunk(1, false, 0);
	put_chunk(2, false, 0);
	fake.moves = chunk_at(0) + AT_PARENT;
	assert_int_equal(copy(), 0);
}

/* Where the first chunk was before the collector moved it, there is another object now. */
static void test_first_chunk_is_none(void **state)
{
	static uint8_t dst[1 << 16];
	struct hs_frozen *f = hs_frozen_new(&fake.hs, &fake.mem);

	(void)state;
	put_chunk(0, false, 0);
	put(chunk_at(0) + 8, BASE + CONT_KLASS, 8);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(hs_frozen_copy(f, BASE + THREAD, TID, dst, sizeof(dst)), 0);
	assert_false(hs_frozen_hopeless(f));
	put_chunk(0, false, 0);
	for (int i = 0; i < 100 && hs_frozen_copy(f, BASE + THREAD, TID, dst, sizeof(dst)) == 0; i++)
		;
	assert_int_equal(hs_frozen_copy(f, BASE + THREAD, TID, dst, sizeof(dst)), FROZEN_ENTRY + CHUNK_COPIED);
	hs_frozen_free(f);
}

/* A JDK whose chunks have other fields. */
static void test_chunks_of_another_kind(void **state)
{
	static uint8_t dst[1 << 16];
	struct hs_frozen *f = hs_frozen_new(&fake.hs, &fake.mem);

	(void)state;
	put_chunk(0, false, 0);
	put_symbol(SP_NAME, "xx");
	assert_int_equal(hs_frozen_copy(f, BASE + THREAD, TID, dst, sizeof(dst)), 0);
	assert_true(hs_frozen_hopeless(f));
	hs_frozen_free(f);
}

static void test_empty_chunk_that_is_its_own_parent(void **state)
{
	(void)state;
	put_chunk(0, true, BASE + chunk_at(0));
	assert_int_equal(copy(), 0);
	assert_true(fake.reads < 2000);
}

static void test_circle_of_chunks(void **state)
{
	(void)state;
	put_chunk(0, false, BASE + chunk_at(1));
	put_chunk(1, true, BASE + chunk_at(0));
	assert_int_equal(copy(), 0);
	assert_true(fake.reads < 2000);
}

static void test_many_empty_chunks(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CHUNKS; i++)
		put_chunk(i, true, BASE + chunk_at((i + 1) % CHUNKS));
	assert_int_equal(copy(), 0);
	assert_true(fake.reads < 2000);
}

/* Whatever the copier's own view of the JVM came to hold is freed with it, the flags too (a sanitizer's to say). */
static void test_mode_is_read_before(void **state)
{
	(void)state;
	put_chunk(0, false, 0);
	fake.jvm.heap_mode.known = false;
	assert_int_equal(copy(), FROZEN_ENTRY + CHUNK_COPIED);
	assert_true(fake.jvm.heap_mode.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_chunks, setup),
		cmocka_unit_test_setup(test_foreign_chunk, setup),
		cmocka_unit_test_setup(test_parent_moves, setup),
		cmocka_unit_test_setup(test_first_chunk_is_none, setup),
		cmocka_unit_test_setup(test_chunks_of_another_kind, setup),
		cmocka_unit_test_setup(test_empty_chunk_that_is_its_own_parent, setup),
		cmocka_unit_test_setup(test_circle_of_chunks, setup),
		cmocka_unit_test_setup(test_many_empty_chunks, setup),
		cmocka_unit_test_setup(test_mode_is_read_before, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
