#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/target/mem.h"

static void assert_reads(struct mem *m, uint64_t addr, size_t len, const char *want)
{
	char got[64] = "";

	assert_int_equal(mem_read_some(m, addr, got, len), strlen(want));
	got[strlen(want)] = '\0';
	assert_string_equal(got, want);
}

static void add(struct mem *m, uint64_t addr, const char *s)
{
	assert_int_equal(mem_pages_add(m, addr, s, strlen(s)), 0);
}

static void test_pages_touch(void **state)
{
	struct mem *m = mem_pages_new();
	char c[4];

	(void)state;
	add(m, 0x1008, "ijkl");
	add(m, 0x1000, "abcd");
	add(m, 0x1004, "efgh");
	assert_reads(m, 0x1000, 12, "abcdefghijkl");
	assert_reads(m, 0x1002, 30, "cdefghijkl");
	assert_reads(m, 0x0fff, 4, "");
	assert_reads(m, 0x100c, 4, "");
	assert_false(mem_read(m, 0x100a, c, 4));
	assert_true(mem_read(m, 0x1008, c, 4));
	mem_free(m);
	mem_free(NULL);
}

static void test_pages_hole(void **state)
{
	struct mem *m = mem_pages_new();

	(void)state;
	add(m, 0x1000, "ab");
	add(m, 0x1003, "de");
	assert_reads(m, 0x1000, 5, "ab");
	assert_reads(m, 0x1003, 5, "de");
	mem_free(m);
}

static void test_pages_overlap(void **state)
{
	struct mem *m = mem_pages_new();

	(void)state;
	add(m, 100, "aaaaaaaaaa"); /* [100, 110) */
	add(m, 103, "bbb"); /* in the middle */
	assert_reads(m, 100, 20, "aaabbbaaaa");
	add(m, 98, "cccc"); /* over the start */
	assert_reads(m, 98, 20, "ccccabbbaaaa");
	add(m, 109, "dd"); /* over the end */
	assert_reads(m, 98, 20, "ccccabbbaaadd");
	add(m, 103, "eee"); /* the same again */
	assert_reads(m, 98, 20, "ccccaeeeaaadd");
	add(m, 90, "ffffffffffffffffffffff"); /* over all of it: [90, 112) */
	assert_reads(m, 98, 20, "ffffffffffffff");
	mem_free(m);
}

/* Many random spans against a plain array. */
static void test_pages_random(void **state)
{
	enum { SIZE = 500, ROUNDS = 3000 };
	struct mem *m = mem_pages_new();
	uint8_t model[SIZE], bytes[40], got[SIZE];
	bool there[SIZE] = {false};

	(void)state;
	srand(1);
	for (int i = 0; i < ROUNDS; i++) {
		size_t len = (size_t)rand() % sizeof(bytes), at = (size_t)rand() % (SIZE - len), n;

		for (size_t k = 0; k < len; k++)
			bytes[k] = model[at + k] = (uint8_t)rand();
		assert_int_equal(mem_pages_add(m, at + 7000, bytes, len), 0);
		memset(there + at, true, len);
		at = (size_t)rand() % SIZE;
		for (n = 0; at + n < SIZE && there[at + n]; n++)
			;
		assert_int_equal(mem_read_some(m, at + 7000, got, SIZE - at), n);
		assert_memory_equal(got, model + at, n);
	}
	mem_free(m);
}

static void test_pages_ends(void **state)
{
	struct mem *m = mem_pages_new();
	char got[32];

	(void)state;
	assert_int_equal(mem_pages_add(m, UINT64_MAX - 3, "abcd", 4), -EINVAL);
	assert_int_equal(mem_pages_add(m, UINT64_MAX - 4, "abcd", 4), 0);
	assert_int_equal(mem_pages_add(m, 5, "", 0), 0);
	add(m, 0, "zero");
	assert_int_equal(mem_read_some(m, UINT64_MAX - 4, got, sizeof(got)), 4);
	assert_int_equal(mem_read_some(m, UINT64_MAX, got, 1), 0);
	assert_reads(m, 0, 10, "zero");
	mem_free(m);
}

static void test_numbers(void **state)
{
	struct mem *m = mem_pages_new();
	uint64_t u64 = 0;
	uint32_t u32 = 0;
	uint16_t u16 = 0;
	uint8_t u8 = 0;

	(void)state;
	mem_pages_add(m, 16, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	assert_true(mem_read_u64(m, 16, &u64) && u64 == 0x0807060504030201);
	assert_true(mem_read_u32(m, 16, &u32) && u32 == 0x04030201);
	assert_true(mem_read_u16(m, 16, &u16) && u16 == 0x0201);
	assert_true(mem_read_u8(m, 23, &u8) && u8 == 8);
	assert_false(mem_read_u64(m, 17, &u64));
	assert_false(mem_read_u16(m, 23, &u16));
	mem_free(m);
}

static void test_cstr(void **state)
{
	struct mem *m = mem_pages_new();
	char s[256], text[200];

	(void)state;
	mem_pages_add(m, 0x1000, "hello\0rest", 10);
	assert_true(mem_read_cstr(m, 0x1000, s, sizeof(s)));
	assert_string_equal(s, "hello");
	assert_true(mem_read_cstr(m, 0x1000, s, 6)); /* fits exactly */
	assert_string_equal(s, "hello");
	assert_false(mem_read_cstr(m, 0x1000, s, 5));
	assert_string_equal(s, "hell");
	assert_false(mem_read_cstr(m, 0x1000, s, 1));
	assert_string_equal(s, "");
	assert_false(mem_read_cstr(m, 0x1000, s, 0));
	assert_false(mem_read_cstr(m, 0x1006, s, sizeof(s))); /* runs into a hole */
	assert_string_equal(s, "rest");
	assert_false(mem_read_cstr(m, 0x2000, s, sizeof(s)));
	assert_string_equal(s, "");

	memset(text, 'x', sizeof(text));
	text[150] = '\0';
	mem_pages_add(m, 0x3003, text, sizeof(text));
	assert_true(mem_read_cstr(m, 0x3003, s, sizeof(s)));
	assert_int_equal(strlen(s), 150);
	assert_false(mem_read_cstr(m, 0x3003, s, 150));
	assert_int_equal(strlen(s), 149);
	mem_free(m);
}

static void test_stack(void **state)
{
	struct mem *base = mem_pages_new();
	struct mem_stack s;

	(void)state;
	add(base, 100, "abcdefghijklmnopqrst");
	mem_stack_init(&s, base, 105, "FGHIJ", 5);
	assert_reads(&s.mem, 105, 5, "FGHIJ");
	assert_reads(&s.mem, 107, 2, "HI");
	assert_reads(&s.mem, 108, 5, "IJklm"); /* over the end */
	assert_reads(&s.mem, 102, 4, "cdeF"); /* over the start */
	assert_reads(&s.mem, 100, 30, "abcdeFGHIJklmnopqrst");
	assert_reads(&s.mem, 100, 5, "abcde");
	assert_reads(&s.mem, 110, 3, "klm");
	assert_reads(&s.mem, 118, 9, "st");
	mem_free(&s.mem);
	mem_free(base);
}

static void test_stack_gaps(void **state)
{
	struct mem *base = mem_pages_new();
	struct mem_stack s;
	char c;

	(void)state;
	mem_stack_init(&s, NULL, 105, "FGHIJ", 5);
	assert_reads(&s.mem, 105, 9, "FGHIJ");
	assert_reads(&s.mem, 104, 9, "");
	assert_reads(&s.mem, 110, 9, "");
	mem_new_sample(&s.mem);

	add(base, 100, "abc");
	mem_stack_init(&s, base, 105, "FGHIJ", 5);
	assert_reads(&s.mem, 101, 9, "bc"); /* 103 and 104 are nowhere */

	mem_stack_init(&s, NULL, UINT64_MAX - 1, "xyz", 3);
	assert_true(mem_read(&s.mem, UINT64_MAX - 1, &c, 1) && c == 'x');
	assert_int_equal(mem_read_some(&s.mem, UINT64_MAX - 1, &(char[8]){0}, 8), 1);
	mem_free(base);
}

struct notes {
	int n;
	uint64_t addr[16];
	size_t len[16];
	char bytes[16][32];
};

static void note(void *ctx, uint64_t addr, const void *bytes, size_t len)
{
	struct notes *n = ctx;

	n->addr[n->n] = addr;
	n->len[n->n] = len;
	memcpy(n->bytes[n->n++], bytes, len);
}

static void test_batch_through_stack_and_tap(void **state)
{
	struct mem *base = mem_pages_new(), *tap;
	struct notes notes = {0};
	struct mem_stack s;
	char got[6][4] = {{0}};
	struct mem_span spans[] = {
		{100, got[0], 2, false}, {500, got[1], 2, true},  {106, got[2], 2, false},
		{109, got[3], 2, false}, {112, got[4], 3, false}, {119, got[5], 2, true},
	};

	(void)state;
	add(base, 100, "abcdefghijklmnopqrst");
	tap = mem_tap_new(base, note, &notes);
	mem_stack_init(&s, tap, 105, "FGHIJ", 5);
	mem_read_batch(&s.mem, spans, 6);
	assert_true(spans[0].ok && spans[2].ok && spans[3].ok && spans[4].ok);
	assert_false(spans[1].ok || spans[5].ok);
	assert_string_equal(got[0], "ab");
	assert_string_equal(got[2], "GH");
	assert_string_equal(got[3], "Jk");
	assert_string_equal(got[4], "mno");

	assert_int_equal(notes.n, 3); /* the copy is not the base's, failures are not noted */
	assert_int_equal(notes.addr[0], 100);
	assert_int_equal(notes.addr[1], 110);
	assert_int_equal(notes.len[1], 1);
	assert_int_equal(notes.addr[2], 112);
	assert_memory_equal(notes.bytes[2], "mno", 3);
	mem_read_batch(&s.mem, spans, 0);
	mem_free(tap);
	mem_free(base);
}

static void test_tap_partial(void **state)
{
	struct mem *base = mem_pages_new(), *tap;
	struct notes notes = {0};

	(void)state;
	add(base, 100, "abc");
	tap = mem_tap_new(base, note, &notes);
	assert_reads(tap, 101, 9, "bc");
	assert_reads(tap, 200, 9, "");
	mem_new_sample(tap);
	assert_int_equal(notes.n, 1);
	assert_int_equal(notes.addr[0], 101);
	assert_int_equal(notes.len[0], 2);
	mem_free(tap);
	mem_free(base);
}

/* Bytes behind the copy that the base would answer for another moment. */
static void test_stack_hidden(void **state)
{
	struct mem *base = mem_pages_new();
	char got[3][4];
	struct mem_span spans[3];
	struct mem_stack s;

	(void)state;
	add(base, 0x1000, "abcdefghijklmnop");
	mem_stack_init(&s, base, 0x1004, "EFGH", 4);
	s.hidden = 4; /* ijkl */
	assert_reads(&s.mem, 0x1000, 16, "abcdEFGH");
	assert_reads(&s.mem, 0x1006, 2, "GH");
	assert_reads(&s.mem, 0x1006, 3, "GH");
	assert_reads(&s.mem, 0x1008, 1, "");
	assert_reads(&s.mem, 0x100b, 4, "");
	assert_reads(&s.mem, 0x100c, 8, "mnop");
	assert_reads(&s.mem, 0x1000, 4, "abcd");
	for (int i = 0; i < 3; i++)
		spans[i] = (struct mem_span){0x1000 + 6 * (uint64_t)i, got[i], 4, false};
	mem_read_batch(&s.mem, spans, 3); /* abcd, G H and hidden, mnop */
	assert_true(spans[0].ok && !spans[1].ok && spans[2].ok);
	assert_memory_equal(got[2], "mnop", 4);
	/* All that there is, and without a copy in front. */
	s.hidden = UINT64_MAX;
	assert_reads(&s.mem, 0x100c, 4, "");
	mem_stack_init(&s, base, 0x1004, "", 0);
	s.hidden = 8;
	assert_reads(&s.mem, 0x1000, 16, "abcd");
	assert_reads(&s.mem, 0x1004, 8, "");
	assert_reads(&s.mem, 0x100c, 4, "mnop");
	mem_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_touch),
		cmocka_unit_test(test_pages_hole),
		cmocka_unit_test(test_pages_overlap),
		cmocka_unit_test(test_pages_random),
		cmocka_unit_test(test_pages_ends),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_cstr),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_stack_gaps),
		cmocka_unit_test(test_stack_hidden),
		cmocka_unit_test(test_batch_through_stack_and_tap),
		cmocka_unit_test(test_tap_partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
