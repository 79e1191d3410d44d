#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/jvm.h"

/* References of generational ZGC, with forwarding tables in an array. */
enum {
	GLOBALS = 0x100, /* pointer to */
	GLOBALS_AT = 0x180, /* pointers to the masks */
	MASKS = 0x200,
	UNIVERSE = 0x300, /* pointer to */
	HEAP = 0x400,
	OLD_MAP = 0x1000,
	YOUNG_MAP = 0x10000,
	OLD_FORWARDING = 0x20000,
	YOUNG_FORWARDING = 0x20400,
	MEMORY = 0x21000,
};
enum { HEAP_BYTES = 0x200, PAGE_TABLE = 0x40, GRANULES = 7200, ENTRIES = 16, FORWARDING_BYTES = 0x40 };
#define BASE UINT64_C(0x10000000)
#define HEAP_BASE (UINT64_C(1) << 42)
#define GRANULE (UINT64_C(5) << 21)
#define OBJECT (HEAP_BASE | GRANULE | 0x800) /* from where it moves */

static struct {
	uint8_t bytes[MEMORY];
	struct mem mem;
	struct jvm jvm;
} fake;

static size_t fake_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	(void)m;
	if (addr < BASE || addr - BASE > MEMORY || MEMORY - (addr - BASE) < len)
		return 0;
	memcpy(dst, fake.bytes + (addr - BASE), len);
	return len;
}

static const struct mem_ops fake_ops = {.read = fake_read};

static void put(uint64_t at, uint64_t v)
{
	memcpy(fake.bytes + at, &v, 8);
}

static struct hs_field field(uint64_t at)
{
	return (struct hs_field){at, 8, true, false};
}

static void layout_fill(struct hs_layout *l)
{
	l->z_globals = field(BASE + GLOBALS);
	l->z_load_good_mask = field(0);
	l->z_offset_mask = field(8);
	l->universe_heap = field(BASE + UNIVERSE);
	l->zc_heap = field(0);
	l->zheap_page_table = field(PAGE_TABLE);
	l->zforwarding_virtual = field(0x10);
	l->zvirtual_start = field(0);
	l->zforwarding_shift = field(0x20);
	l->zforwarding_entries = field(0x28);
	l->zarray_length = field(0);
	l->size.zheap = HEAP_BYTES;
	l->size.zforwarding = FORWARDING_BYTES;
}

static void put_before_vtable(uint64_t at, uint64_t number, uint64_t address)
{
	put(at, number);
	put(at + 8, address);
	put(at + 16, BASE + UNIVERSE + 0x1000);
}

static void put_map(uint64_t at, uint64_t map)
{
	put_before_vtable(at, GRANULES, BASE + map);
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.mem.ops = &fake_ops;
	fake.jvm.mem = &fake.mem;
	fake.jvm.heap_mode = (struct heap_mode){.known = true, .z = true, .z_generational = true};
	layout_fill(&fake.jvm.l);
	put(GLOBALS, BASE + GLOBALS_AT);
	put(GLOBALS_AT, BASE + MASKS);
	put(GLOBALS_AT + 8, BASE + MASKS + 8);
	put(MASKS, UINT64_C(1) << 12);
	put(MASKS + 8, HEAP_BASE - 1);
	put(UNIVERSE, BASE + HEAP);
	put_map(HEAP + 0x80, OLD_MAP);
	put_map(HEAP + 0x100, YOUNG_MAP);
	return 0;
}

/* A page is being relocated; the object is still in its place, or now at `to`. */
static void put_forwarding(uint64_t map, uint64_t at, uint64_t to)
{
	put(map + 8 * (GRANULE >> 21), BASE + at);
	put(at + 0x10, GRANULE);
	put(at + 0x20, 3);
	put(at + 0x28, ENTRIES);
	for (int i = 0; to && i < ENTRIES; i++)
		put(at + FORWARDING_BYTES + 8 * (uint64_t)i, UINT64_C(0x800) >> 3 << 46 | to << 1 | 1);
}

/* stale: 1 the young generation was relocated since, 2 the old one. 0: not known where it is. */
static uint64_t resolve(unsigned stale)
{
	uint64_t ret;

	return z_resolve(&fake.jvm, OBJECT << (13 + stale) | UINT64_C(1) << (12 + stale), &ret) ? ret : 0;
}

static void test_good(void **state)
{
	(void)state;
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0x5000);
	assert_true(resolve(0) == OBJECT);
}

static void test_moved(void **state)
{
	(void)state;
	assert_true(resolve(1) == OBJECT);
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0);
	assert_true(resolve(1) == OBJECT);
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0x5000);
	assert_true(resolve(1) == (HEAP_BASE | 0x5000));
	assert_true(resolve(2) == OBJECT);
	assert_true(resolve(3) == (HEAP_BASE | 0x5000));
	put_forwarding(OLD_MAP, OLD_FORWARDING, 0x6000);
	assert_true(resolve(2) == (HEAP_BASE | 0x6000));
}

/* The old generation's table may be of an earlier page at this address. */
static void test_not_yet_moved(void **state)
{
	(void)state;
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0);
	put_forwarding(OLD_MAP, OLD_FORWARDING, 0x6000);
	assert_true(resolve(3) == OBJECT);
}

/* Null is coloured, and nothing at offset 0 of the heap, which may have moved. */
static void test_null(void **state)
{
	uint64_t ret;

	(void)state;
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0x5000);
	put(YOUNG_MAP, BASE + YOUNG_FORWARDING);
	put(YOUNG_FORWARDING + 0x10, 0);
	for (uint64_t i = 0; i < ENTRIES; i++)
		put(YOUNG_FORWARDING + FORWARDING_BYTES + 8 * i, 0x5000 << 1 | 1);
	assert_false(z_resolve(&fake.jvm, UINT64_C(1) << 13, &ret));
}

/* Sizes of a generation's memory, before an object with a vtable as well. */
static void test_no_map(void **state)
{
	(void)state;
	put_before_vtable(HEAP + 0x50, 0x800000, 0xc800000);
	put_before_vtable(HEAP + 0x68, 0x800000, 0xc800000);
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0x5000);
	assert_true(resolve(1) == (HEAP_BASE | 0x5000));
}

/* What is at the old place may be another object. */
static void test_unknown(void **state)
{
	(void)state;
	put_forwarding(YOUNG_MAP, YOUNG_FORWARDING, 0x5000);
	put(YOUNG_MAP + 8 * (GRANULE >> 21), BASE + MEMORY);
	assert_true(resolve(1) == 0);
	setup(NULL);
	put(HEAP + 0x100, GRANULES + 1);
	assert_true(resolve(1) == 0);
	assert_true(resolve(0) == OBJECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_good, setup),          cmocka_unit_test_setup(test_moved, setup),
		cmocka_unit_test_setup(test_not_yet_moved, setup), cmocka_unit_test_setup(test_null, setup),
		cmocka_unit_test_setup(test_no_map, setup),        cmocka_unit_test_setup(test_unknown, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
