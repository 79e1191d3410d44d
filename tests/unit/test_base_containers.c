#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbolizer/base/address_sort.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/base/tid_map.h"
#include "symbolizer/base/trim.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"

static void test_cursor(void **state)
{
	static const uint8_t bytes[] = {1, 2, 0, 3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 9};
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u16(&c), 2);
	assert_int_equal(cursor_u32(&c), 3);
	assert_int_equal(cursor_i32(&c), -1);
	assert_int_equal(cursor_left(&c), 1);
	assert_int_equal(cursor_u16(&c), 0);
	assert_true(c.bad);
	assert_int_equal(cursor_u8(&c), 0); /* stays bad although a byte is left */
	assert_int_equal(cursor_left(&c), 0);

	c = cursor_make(bytes, sizeof(bytes));
	assert_null(cursor_take(&c, SIZE_MAX));
	assert_true(c.bad);
}

static void test_tid_map(void **state)
{
	struct tid_map m = {.size = sizeof(double)};
	double *first, *e, sum = 0;

	(void)state;
	assert_null(tid_map_find(&m, 7));
	assert_null(tid_map_next(&m, NULL));
	first = tid_map_get(&m, 7);
	assert_non_null(first);
	assert_true(*first == 0);
	*first = 0.5;
	for (int tid = 1000; tid < 2000; tid++)
		*(double *)tid_map_get(&m, tid) = 1;
	assert_ptr_equal(tid_map_get(&m, 7), first);
	assert_ptr_equal(tid_map_find(&m, 7), first);
	assert_int_equal(tid_map_tid(first), 7);
	assert_int_equal(tid_map_count(&m), 1001);
	assert_ptr_equal(tid_map_next(&m, NULL), first);
	for (e = NULL; (e = tid_map_next(&m, e));)
		sum += *e;
	assert_true(sum == 1000.5);
	tid_map_drop(&m, first);
	assert_null(tid_map_find(&m, 7));
	assert_int_equal(tid_map_tid(tid_map_next(&m, NULL)), 1000);
	tid_map_clear(&m);
	assert_int_equal(tid_map_count(&m), 0);
	assert_null(tid_map_find(&m, 1000));
}

static void test_vec(void **state)
{
	VEC(int) v = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(vec_push(&v, i));
	assert_int_equal(v.n, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.v[i], i);
	assert_true(vec_reach(&v, 1000, 7));
	assert_int_equal(v.n, 1000);
	assert_true(vec_reach(&v, 1003, 7));
	assert_int_equal(v.n, 1003);
	assert_int_equal(v.v[999], 999);
	assert_int_equal(v.v[1000], 7);
	assert_int_equal(v.v[1002], 7);
	vec_trim(&v);
	assert_int_equal(v.cap, 1003);
	assert_int_equal(v.v[1002], 7);
	assert_true(vec_push(&v, 8));
	assert_int_equal(v.v[1003], 8);
	vec_done(&v);
	vec_trim(&v);
	assert_null(v.v);
}

static void test_arena(void **state)
{
	struct arena a = {0};
	unsigned char *p[600];

	(void)state;
	for (size_t i = 0; i < 600; i++) {
		size_t size = i % 50 == 49 ? 100000 : i * 7 % 300;

		p[i] = arena_alloc(&a, size);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < size; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], 0x55, size);
	}
	for (size_t i = 1; i < 600; i++)
		assert_ptr_not_equal(p[i], p[i - 1]);
	assert_true(a.bytes > 12 * 100000);
	assert_true(a.bytes < 4000000);
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc(&a, SIZE_MAX / 2 + 1));
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(&a, "ab", 10), "ab");
	assert_memory_equal(arena_copy(&a, "xy\0z", 4), "xy\0z", 4);
	arena_done(&a);
	assert_int_equal(a.bytes, 0);
	arena_done(&a);
}

static void test_buf(void **state)
{
	struct buf b = {0};
	char want[8000];

	(void)state;
	buf_add(&b, "", 0);
	assert_null(b.data);
	buf_add_z(&b, "ab");
	buf_add(&b, "\0c", 2);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "ab\0c", 5);
	buf_reset(&b);
	assert_string_equal(b.data, "");
	memset(want, 'q', sizeof(want) - 1);
	want[sizeof(want) - 1] = '\0';
	buf_printf(&b, "%d:%s", 5, want);
	buf_printf(&b, "%s", "");
	assert_int_equal(b.len, 2 + strlen(want));
	assert_string_equal(b.data + 2, want);
	buf_add(&b, "x", SIZE_MAX / 2); /* refused before it is read */
	assert_true(b.failed);
	buf_add_z(&b, "y");
	buf_printf(&b, "y");
	assert_int_equal(b.len, 2 + strlen(want));
	buf_done(&b);
	assert_null(b.data);
}

static void test_strtab(void **state)
{
	enum { N = 100000 };
	struct strtab *t = strtab_new();
	size_t bytes;
	char s[32];

	(void)state;
	assert_int_equal(strtab_add_z(t, ""), 0);
	assert_int_equal(strtab_add(t, NULL, 0), 0);
	assert_string_equal(strtab_get(t, 0), "");
	assert_int_equal(strtab_count(t), 1);
	for (uint32_t i = 0; i < N; i++) {
		snprintf(s, sizeof(s), "name/%u", i);
		assert_int_equal(strtab_add_z(t, s), i + 1);
	}
	assert_int_equal(strtab_count(t), N + 1);
	for (uint32_t i = 0; i < N; i++) {
		snprintf(s, sizeof(s), "name/%u", i);
		assert_int_equal(strtab_add_z(t, s), i + 1);
		assert_string_equal(strtab_get(t, i + 1), s);
	}
	assert_int_equal(strtab_count(t), N + 1);
	assert_true(strtab_bytes(t) > N * 10 && strtab_bytes(t) < N * 64);
	bytes = strtab_bytes(t);
	strtab_rest(t);
	assert_true(strtab_bytes(t) < bytes - N * 8);
	assert_int_equal(strtab_find(t, s, strlen(s)), N);
	assert_int_equal(strtab_bytes(t), bytes);
	strtab_rest(t);
	assert_int_equal(strtab_add_z(t, "name/7"), 8);
	strtab_rest(t);
	assert_int_equal(strtab_add_z(t, "new"), N + 1);
	strtab_free(t);
	strtab_free(NULL);
}

/* A text stays as long as any table has it, whoever lent it to whom, and whichever table goes first. */
static void test_strtab_borrowed(void **state)
{
	enum { TEXTS = 500 };
	struct strtab *a = strtab_new(), *b = strtab_new(), *c = strtab_new();
	size_t bytes;
	char s[64];

	(void)state;
	assert_int_equal(strtab_borrow(b, a, 0), 0);
	strtab_add_z(c, "own");
	for (uint32_t i = 1; i <= TEXTS; i++) {
		snprintf(s, sizeof(s), "a text that is long enough to matter, number %u", i);
		assert_int_equal(strtab_add_z(a, s), i);
	}
	bytes = strtab_bytes(a);
	for (uint32_t i = 1; i <= TEXTS; i++) {
		assert_int_equal(strtab_borrow(b, a, i), i);
		assert_int_equal(strtab_borrow(b, a, i), i);
		assert_int_equal(strtab_borrow(c, b, i), i + 1);
		assert_ptr_equal(strtab_get(c, i + 1), strtab_get(a, i));
	}
	assert_true(strtab_bytes(b) < bytes / 2);
	strtab_add_z(b, "after");
	strtab_free(a);
	assert_int_equal(strtab_borrow(c, b, TEXTS + 1), TEXTS + 2);
	strtab_free(b);
	for (uint32_t i = 1; i <= TEXTS; i++) {
		snprintf(s, sizeof(s), "a text that is long enough to matter, number %u", i);
		assert_string_equal(strtab_get(c, i + 1), s);
		assert_int_equal(strtab_add_z(c, s), i + 1);
	}
	assert_string_equal(strtab_get(c, TEXTS + 2), "after");
	strtab_free(c);
}

static void test_strtab_many_lenders(void **state)
{
	enum { LENDERS = 3 * STRTAB_LENDERS };
	struct strtab *t = strtab_new();
	char s[32];

	(void)state;
	for (uint32_t i = 1; i <= LENDERS; i++) {
		struct strtab *lender = strtab_new();

		snprintf(s, sizeof(s), "text %u", i);
		assert_int_equal(strtab_add_z(lender, s), 1);
		assert_int_equal(strtab_borrow(t, lender, 1), i);
		assert_int_equal(strtab_get(t, i) == strtab_get(lender, 1), i <= STRTAB_LENDERS);
		strtab_free(lender);
	}
	for (uint32_t i = 1; i <= LENDERS; i++) {
		snprintf(s, sizeof(s), "text %u", i);
		assert_string_equal(strtab_get(t, i), s);
	}
	strtab_free(t);
}

static void test_strtab_lengths(void **state)
{
	struct strtab *t = strtab_new();
	uint32_t a = strtab_add(t, "abcdef", 3), b = strtab_add_z(t, "abcd");

	(void)state;
	assert_string_equal(strtab_get(t, a), "abc");
	assert_int_not_equal(a, b);
	assert_int_equal(strtab_add_z(t, "abc"), a);
	assert_int_equal(strtab_add(t, "abc\0zz", 6), a); /* what follows a NUL is dropped */
	assert_int_equal(strtab_add(t, "\0zz", 3), 0);
	assert_string_equal(strtab_get(t, 12345), ""); /* no such id */
	strtab_free(t);
}

static void test_hash(void **state)
{
	static const char text[] = "0123456789abcdefg";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		char *copy = malloc(n + 1); /* exact size: ASan sees a read past the end */

		memcpy(copy, text, n);
		assert_true(hash_bytes(copy, n) == hash_bytes(text, n));
		assert_true(hash_bytes(text, n) != hash_bytes(text, n + 1));
		free(copy);
	}
	assert_true(hash_bytes("\0", 1) != hash_bytes("\0\0", 2));
	assert_true(hash_bytes_secret("a", 1) == hash_bytes_secret("a", 1));
	assert_true(hash_bytes_secret("a", 1) != hash_bytes("a", 1));
}

static void test_first_above(void **state)
{
	struct {
		int64_t at;
	} v[] = {{-3}, {0}, {0}, {7}, {9}};

	(void)state;
	for (int64_t key = -5; key <= 10; key++) {
		size_t want = 0;

		while (want < 5 && v[want].at <= key)
			want++;
		assert_int_equal(first_above(v, 5, at, key), want);
	}
	assert_int_equal(first_above(v, 0, at, 0), 0);
}

static void test_set_reach(void **state)
{
	struct {
		uint64_t start, end, reach;
	} v[] = {{1, 5, 0}, {2, 9, 0}, {3, 4, 0}, {9, 12, 0}};

	(void)state;
	set_reach(v, 4);
	assert_int_equal(v[0].reach, 5);
	assert_int_equal(v[1].reach, 9);
	assert_int_equal(v[2].reach, 9);
	assert_int_equal(v[3].reach, 12);
}

static bool number_is(const void *ctx, const void *wanted, uint32_t position)
{
	return ((const uint64_t *)ctx)[position] == *(const uint64_t *)wanted;
}

/* Half of the hashes are the same: only the callback tells those apart. */
static void test_slots(void **state)
{
	enum { N = 5000 };
	static uint64_t numbers[N];
	struct slots s = {0};

	(void)state;
	for (uint64_t n = 0; n < N; n++) {
		numbers[n] = n * 3;
		assert_int_equal(slots_find(&s, hash_u64(n / 2), number_is, numbers, &numbers[n]), SLOTS_NONE);
		assert_true(slots_add(&s, hash_u64(n / 2), (uint32_t)n));
	}
	for (uint64_t n = 0; n < N; n++)
		assert_int_equal(slots_find(&s, hash_u64(n / 2), number_is, numbers, &numbers[n]), n);
	slots_done(&s);
	assert_int_equal(slots_bytes(&s), 0);
}

/* A large index grows by half, as slots_growth() tells, and not at all if there was room made for all. */
static void test_slots_growth(void **state)
{
	enum { N = 200000 };
	struct slots s = {0}, whole = {0};
	size_t bytes;

	(void)state;
	assert_true(slots_reserve(&whole, N));
	bytes = slots_bytes(&whole);
	assert_in_range(bytes, N * sizeof(*s.v), N * 2 * sizeof(*s.v));
	for (uint32_t i = 0; i < N; i++) {
		size_t before = slots_bytes(&s), growth = slots_growth(&s, 1);

		assert_true(slots_add(&s, hash_u64(i), i) && slots_add(&whole, hash_u64(i), i));
		assert_int_equal(slots_bytes(&s), before + growth);
		assert_true(i < 4096 || growth <= before / 2);
	}
	assert_int_equal(slots_bytes(&whole), bytes);
	assert_int_equal(slots_bytes(&s), bytes);
	assert_true(slots_reserve(&s, N / 2));
	assert_int_equal(slots_bytes(&s), bytes);
	slots_done(&s);
	slots_done(&whole);
}

/* Puts and removes keys up to n. */
static void change_u64map(uint32_t n, uint32_t *want)
{
	struct u64map m = {0}, copy = {0};
	uint64_t seed = 7;
	size_t cap;

	for (uint32_t i = 0; i < 40 * n; i++) {
		uint64_t k;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (seed >> 33) % n;
		if (seed >> 60 & 1) {
			u64map_remove(&m, k + 1);
			want[k] = 0;
		} else {
			assert_true(u64map_put(&m, k + 1, (uint32_t)i + 1));
			want[k] = (uint32_t)i + 1;
		}
	}
	for (uint64_t k = 0; k < n; k++)
		assert_int_equal(u64map_get(&m, k + 1), want[k]);
	assert_false(u64map_put(&m, 0, 1));
	assert_true(u64map_reserve(&copy, m.n));
	cap = copy.cap;
	for (size_t i = 0; i < m.cap; i++)
		if (m.slots[i].key)
			assert_true(u64map_put(&copy, m.slots[i].key, m.slots[i].value));
	for (uint64_t k = 0; k < n; k++)
		assert_int_equal(u64map_get(&copy, k + 1), want[k]);
	assert_int_equal(copy.cap, cap);
	u64map_done(&copy);
	u64map_done(&m);
}

static void test_u64map(void **state)
{
	enum { SMALL = 512, LARGE = 20000 };
	static uint32_t small[SMALL], large[LARGE];

	(void)state;
	change_u64map(SMALL, small);
	change_u64map(LARGE, large);
}

struct sorted_element {
	uint64_t address;
	uint32_t number;
};

enum { SORTED = 5000 };

/* Sorts elements with the bits of `mask`: nothing is lost, and equal ones keep their order. */
static void sort_masked(uint64_t mask, size_t n)
{
	static struct sorted_element v[SORTED];
	static uint64_t made[SORTED];
	uint64_t x = 88172645463325252;

	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		v[i] = (struct sorted_element){made[i] = x & mask, (uint32_t)i};
	}
	address_sort(v, n, sizeof(v[0]));
	for (size_t i = 0; i < n; i++) {
		assert_true(v[i].address == made[v[i].number]);
		made[v[i].number] = ~mask; /* no address is there twice */
		if (i && v[i - 1].address == v[i].address)
			assert_true(v[i - 1].number < v[i].number);
		else if (i)
			assert_true(v[i - 1].address < v[i].address);
	}
}

static void test_address_sort(void **state)
{
	static const uint64_t masks[] = {1, 0xff, 0x7ff, 0x800, 0xfffff, 0x1fffff0, 0xffffffff00000000, UINT64_MAX - 1};
	struct sorted_element few[] = {{3, 0}, {1, 1}};

	(void)state;
	address_sort(NULL, 0, sizeof(few[0]));
	address_sort(few, 1, sizeof(few[0]));
	assert_int_equal(few[0].address, 3);
	address_sort(few, 2, sizeof(few[0]));
	assert_int_equal(few[0].number, 1);
	address_sort(few, 2, sizeof(few[0])); /* sorted already */
	assert_int_equal(few[0].number, 1);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		for (size_t n = 2; n <= SORTED; n += 1 + n * 3)
			sort_masked(masks[i], n);
}

static void test_clock(void **state)
{
	uint64_t mono = clock_monotonic_ns(), cpu = clock_thread_cpu_ns();

	(void)state;
	while (clock_monotonic_ns() < mono + 1000000)
		;
	assert_true(clock_monotonic_ns() > mono);
	assert_true(clock_thread_cpu_ns() > cpu);
	assert_true(clock_process_cpu_ns() >= cpu);
	assert_true(clock_realtime_ns() > 1700000000ull * 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_tid_map),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_strtab),
		cmocka_unit_test(test_strtab_borrowed),
		cmocka_unit_test(test_strtab_many_lenders),
		cmocka_unit_test(test_strtab_lengths),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_first_above),
		cmocka_unit_test(test_set_reach),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_slots_growth),
		cmocka_unit_test(test_u64map),
		cmocka_unit_test(test_address_sort),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
