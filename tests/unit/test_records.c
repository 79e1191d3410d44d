/* The debug record that fits a place in compiled code best, on code made here, in a JVM's heap made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "jvm-bridge/host/base/address.h"
#include "jvm-bridge/host/stacks/records.h"

enum {
	PAGE = 4096,
	SHIFT = 7, /* of a segment's size */
	CODE_PAGES = 4,
	CODE = CODE_PAGES * PAGE,
	STUB = 0, /* pages of the heap: a stub's code, */
	METHOD = 1, /* a method's header, */
	BEGIN = 3, /* and its code, with a page before and behind that nobody may read */
	OTHER = BEGIN + CODE_PAGES + 1, /* another method */
	FREE,
	HEAP_PAGES,
	RECORDS_MAX = 600,
	FUZZ = 1000,
};

struct blob {
	uint64_t block[2]; /* the heap's own */
	const char *name;
	int32_t size, code, data, records, end, level;
	const void *separate, *maps;
};

struct record {
	int32_t pc, scope, obj, flags;
};

/* What the JVM's tables lead to. */
static struct {
	struct {
		uint64_t low_boundary, low, high, map;
		int32_t shift, pad;
	} heap;
	uint64_t list[1];
	struct {
		uint64_t data;
		int32_t length, pad;
	} heaps;
	uint64_t heaps_at;
	/* Those of an nmethod are behind an offset that is not 0. */
	struct {
		uint64_t first;
		struct record r[RECORDS_MAX];
	} records;
	uint32_t n;
	struct {
		int32_t n, size, pairs[4][2];
	} maps;
	uint8_t map[HEAP_PAGES << 5];
} jvm;

static uint8_t *heap, *code; /* the code ends where the page ends that may be read */
static int32_t size;

static uint64_t addr(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static struct blob *blob_at(unsigned page)
{
	return (struct blob *)(void *)(heap + page * PAGE);
}

bool jvm_fields_find(const struct jvm_field *f, size_t n)
{
	const struct {
		const char *type, *field;
		uint64_t value;
	} fields[] = {
		{"CodeCache", "_heaps", addr(&jvm.heaps_at)},
		{"GrowableArray<int>", "_data", offsetof(typeof(jvm.heaps), data)},
		{"GrowableArrayBase", "_len", offsetof(typeof(jvm.heaps), length)},
		{"CodeHeap", "_memory", 0},
		{"CodeHeap", "_segmap", offsetof(typeof(jvm.heap), map) - offsetof(typeof(jvm.heap), low)},
		{"CodeHeap", "_log2_segment_size", offsetof(typeof(jvm.heap), shift)},
		{"VirtualSpace", "_low_boundary", offsetof(typeof(jvm.heap), low_boundary)},
		{"VirtualSpace", "_low", offsetof(typeof(jvm.heap), low)},
		{"VirtualSpace", "_high", offsetof(typeof(jvm.heap), high)},
		{"HeapBlock::Header", "_used", 8},
		{"CodeBlob", "_name", offsetof(struct blob, name) - 16},
		{"CodeBlob", "_size", offsetof(struct blob, size) - 16},
		{"CodeBlob", "_code_offset", offsetof(struct blob, code) - 16},
		{"CodeBlob", "_data_offset", offsetof(struct blob, data) - 16},
		{"nmethod", "_scopes_pcs_offset", offsetof(struct blob, records) - 16},
		{"nmethod", "_scopes_data_offset", offsetof(struct blob, end) - 16},
		{"nmethod", "_comp_level", offsetof(struct blob, level) - 16},
		{"CodeBlob", "_oop_maps", offsetof(struct blob, maps) - 16},
		{"ImmutableOopMapSet", "_count", 0},
		{"nmethod", "_immutable_data", offsetof(struct blob, separate) - 16},
	};

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < sizeof(fields) / sizeof(*fields) &&
		       (strcmp(fields[k].type, f[i].type) || strcmp(fields[k].field, f[i].name)))
			k++;
		if (k == sizeof(fields) / sizeof(*fields))
			return false;
		*f[i].ret = fields[k].value;
	}
	return true;
}

static void blob_make(unsigned page, unsigned pages, const char *name)
{
	struct blob *b = blob_at(page);

	b->name = name;
	b->size = (int32_t)(pages * PAGE) - 16;
	for (unsigned i = 0; i < pages << 5; i++)
		jvm.map[(page << 5) + i] = (uint8_t)(i < 255 ? i : 254);
}

static int setup(void **state)
{
	(void)state;
	heap = mmap(NULL, HEAP_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(heap, MAP_FAILED);
	blob_make(STUB, 1, "StubRoutines");
	blob_make(METHOD, OTHER - METHOD, "nmethod");
	blob_make(OTHER, 1, "nmethod");
	memset(jvm.map + (FREE << 5), 255, 1 << 5);
	jvm.heap = (typeof(jvm.heap)){addr(heap), addr(heap), addr(heap + HEAP_PAGES * PAGE), addr(jvm.map), SHIFT, 0};
	jvm.list[0] = addr(&jvm.heap);
	jvm.heaps = (typeof(jvm.heaps)){addr(jvm.list), 1, 0};
	jvm.heaps_at = addr(&jvm.heaps);
	assert_int_equal(mprotect(heap + (BEGIN - 1) * PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(heap + (BEGIN + CODE_PAGES) * PAGE, PAGE, PROT_NONE), 0);
	records_init();
	return 0;
}

/* Code of n bytes that ends with the page: nop. */
static void code_begin(int32_t n)
{
	struct blob *b = blob_at(METHOD);

	size = n;
	code = heap + (BEGIN + CODE_PAGES) * PAGE - n;
	memset(code, 0x90, (size_t)n);
	jvm.records.r[0].pc = -1;
	jvm.n = 1;
	b->code = (int32_t)(code - (heap + METHOD * PAGE) - 16);
	b->data = b->code + n;
	b->separate = &jvm.records;
	b->maps = &jvm.maps;
	b->level = 1;
	b->records = offsetof(typeof(jvm.records), r);
}

static void number_put(int32_t at, int32_t v)
{
	memcpy(code + at, &v, sizeof(v));
}

static void branch(int32_t at, int32_t to)
{
	code[at] = 0x0f;
	code[at + 1] = 0x84;
	number_put(at + 2, to - at - 6);
}

static void jump(int32_t at, int32_t to)
{
	code[at] = 0xe9;
	number_put(at + 1, to - at - 5);
}

/* In the order of their places. */
static void record(int32_t pc)
{
	jvm.records.r[jvm.n++].pc = pc;
}

/* With the record of where it returns to. */
static void call(int32_t at, unsigned page)
{
	code[at] = 0xe8;
	number_put(at + 1, (int32_t)(heap + page * PAGE + 100 - (code + at + 5)));
	record(at + 5);
}

static void code_end(void)
{
	record(INT32_MAX);
	blob_at(METHOD)->end = (int32_t)(offsetof(typeof(jvm.records), r) + jvm.n * sizeof(*jvm.records.r));
}

static int64_t near(int32_t pc)
{
	return (int64_t)(record_near(addr(code + pc)) - addr(code));
}

/* What is behind the loop in the code is another method's. */
static void loops(void **state)
{
	(void)state;
	code_begin(CODE);
	record(50); /* a poll before */
	branch(120, 1000); /* rare, in the loop */
	branch(160, 100); /* the loop's end */
	record(170); /* a poll behind */
	call(1010, STUB);
	code_end();
	assert_int_equal(near(130), 1014);
	assert_int_equal(near(101), 1014);
	assert_int_equal(near(159), 1014);
	assert_int_equal(near(168), 168); /* behind the loop the next record is the nearest */
	assert_int_equal(near(170), 169);
}

/* The inner loop's before the outer one's, wherever they are. */
static void nested(void **state)
{
	(void)state;
	code_begin(CODE);
	record(210); /* a poll of the outer loop */
	branch(300, 1000); /* the inner loop's rare call */
	branch(390, 220); /* the inner loop */
	jump(420, 200); /* the outer one */
	record(440);
	call(1010, STUB);
	code_end();
	assert_int_equal(near(222), 1014);
	assert_int_equal(near(388), 1014);
	assert_int_equal(near(400), 1014); /* nearer than the poll, in the outer one */
	assert_int_equal(near(205), 205); /* the poll is next */
	assert_int_equal(near(218), 209);

	/* Nothing in the inner loop. */
	code_begin(CODE);
	record(210);
	branch(390, 220);
	jump(420, 200);
	record(440);
	code_end();
	assert_int_equal(near(380), 209);
	assert_int_equal(near(418), 209);
	assert_int_equal(near(430), 430);
}

/* A poll's record is where it begins, a call's where it returns to; that of a rare call holds nowhere near it. */
static void calls(void **state)
{
	(void)state;
	code_begin(CODE);
	call(100, OTHER);
	call(140, OTHER);
	record(200);
	call(300, STUB);
	record(400);
	code_end();
	assert_int_equal(near(102), 102); /* is in the call */
	assert_int_equal(near(110), 104);
	assert_int_equal(near(124), 124); /* the next one begins nearer */
	assert_int_equal(near(142), 142);
	assert_int_equal(near(150), 144);
	assert_int_equal(near(210), 199); /* not the rare one, which is next */
	assert_int_equal(near(290), 199);
	assert_int_equal(near(310), 310); /* the next one, not the rare one */
}

/* A branch to what is no rare call says nothing; nor does one with the call too far behind its target. */
static void branches(void **state)
{
	(void)state;
	code_begin(CODE);
	record(80);
	branch(110, 1000);
	branch(120, 2000);
	branch(150, 60); /* the loop */
	record(170);
	call(1010, OTHER);
	call(2092, STUB);
	code_end();
	assert_int_equal(near(115), 79);
	code[2096] = 0x90;
	code_begin(CODE);
	record(80);
	branch(120, 2000);
	branch(150, 60);
	record(170);
	call(2091, STUB); /* the last that is near enough */
	code_end();
	assert_int_equal(near(115), 2095);
}

/* Of C2's records only those of safepoints, even where the JVM would take another. */
static void untrusted(void **state)
{
	(void)state;
	code_begin(CODE);
	record(90); /* a poll */
	record(100);
	record(104);
	branch(110, 1000);
	record(125);
	record(295);
	record(300); /* a poll */
	record(1002);
	call(1010, STUB);
	code_end();
	jvm.maps = (typeof(jvm.maps)){3, 0, {{90, 0}, {300, 0}, {1015, 0}}};
	assert_int_equal(near(101), 99); /* another compiler's are all right */
	blob_at(METHOD)->level = 4;
	assert_int_equal(near(90), 89);
	assert_int_equal(near(101), 1014);
	assert_int_equal(near(120), 1014);
	assert_int_equal(near(290), 299);
	blob_at(METHOD)->maps = NULL;
	assert_int_equal(near(101), 99);
}

/* Code behind everything, which jumps back to the place that it belongs to. */
static void collector(void **state)
{
	(void)state;
	code_begin(CODE);
	record(90);
	branch(110, 60);
	record(130);
	jump(9010, 100);
	record(9100);
	code_end();
	assert_int_equal(near(9000), 89);
	assert_int_equal(near(9020), 9020);
}

static void elsewhere(void **state)
{
	(void)state;
	code_begin(CODE);
	record(90);
	code_end();
	for (unsigned page = 0; page < HEAP_PAGES; page++)
		if (page < BEGIN || page >= BEGIN + CODE_PAGES)
			assert_int_equal(record_near(addr(heap + page * PAGE + 200)), addr(heap + page * PAGE + 200));
	assert_int_equal(record_near(addr(heap - 1)), addr(heap - 1));
	assert_int_equal(record_near(addr(heap + HEAP_PAGES * PAGE)), addr(heap + HEAP_PAGES * PAGE));
	assert_int_equal(near(CODE), CODE);
}

/* Bytes of branches, jumps and calls that the code's end cuts off, and records that lie outside. */
static void ends(void **state)
{
	static const uint8_t openings[][2] = {{0x0f, 0x84}, {0xe9, 0}, {0xe8, 0}};

	(void)state;
	for (int32_t n = 1; n < 40; n++)
		for (int32_t cut = 1; cut <= n; cut++)
			for (unsigned i = 0; i < sizeof(openings) / sizeof(*openings); i++) {
				code_begin(n);
				memcpy(code + n - cut, openings[i], cut < 2 ? 1 : 2);
				record(n / 2);
				record(n + 4);
				record(n + 1000);
				code_end();
				for (int32_t pc = 0; pc < n; pc++)
					near(pc);
			}
}

static int by_pc(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Random bytes, among them many branches and calls: an address in the code, always. */
static void garbage(void **state)
{
	static const uint8_t likely[] = {0x0f, 0x84, 0x8f, 0xe8, 0xe9, 0xff, 0x00, 0x01};

	(void)state;
	srand(1);
	for (int round = 0; round < FUZZ; round++) {
		code_begin(1 + rand() % (round % 10 ? 300 : CODE));
		for (int32_t i = 0; i < size; i++)
			code[i] = (uint8_t)(rand() % 2 ? likely[(unsigned)rand() % sizeof(likely)] : rand());
		for (int i = rand() % 50; i > 0; i--) {
			int32_t at = rand() % size;

			if (rand() % 2 && at + 5 <= size)
				call(at, rand() % 2 ? STUB : OTHER);
			else
				record(at);
		}
		qsort(jvm.records.r, jvm.n, sizeof(*jvm.records.r), by_pc);
		code_end();
		for (int i = 0; i < 50; i++)
			assert_in_range(near(rand() % size), 0, size - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops),     cmocka_unit_test(nested),    cmocka_unit_test(calls),
		cmocka_unit_test(branches),  cmocka_unit_test(untrusted), cmocka_unit_test(collector),
		cmocka_unit_test(elsewhere), cmocka_unit_test(ends),      cmocka_unit_test(garbage),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
