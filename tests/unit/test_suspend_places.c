#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/engine/suspend/suspend_places.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

/* A stack of words of its own, at an address that this process need not have. */
enum { WORDS = 64 };
#define STACK UINT64_C(0x7f0000001000)
#define PC UINT64_C(0x55d6f2a3a2c1)

static uint64_t words[WORDS];

static struct mem *stack_of(void)
{
	struct mem *m = mem_pages_new();

	assert_non_null(m);
	assert_int_equal(mem_pages_add(m, STACK, words, sizeof(words)), 0);
	return m;
}

static struct mem *new_stack(void)
{
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = 0x1000 + i;
	return stack_of();
}

static struct regs at(uint64_t pc, uint64_t sp)
{
	struct regs r = {0};

	regs_set(&r, arch_host()->pc, pc);
	regs_set(&r, arch_host()->sp, sp);
	return r;
}

static struct regs stopped_at(uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct regs r = at(pc, sp);

	regs_set(&r, arch_host()->fp, fp);
	return r;
}

static bool has_fp(const struct regs *r, uint64_t fp)
{
	return regs_known(r, arch_host()->fp) && r->r[arch_host()->fp] == fp;
}

static void test_same_place(void **state)
{
	const struct regs stopped = stopped_at(PC, STACK, STACK + 64);
	struct suspend_places p = {0};
	struct mem *m = new_stack();
	struct regs r = at(PC, STACK);

	(void)state;
	assert_false(suspend_places_complete(&p, &r, m)); /* never stopped: that would tell more */
	assert_false(regs_known(&r, arch_host()->fp));
	suspend_places_keep(&p, &stopped, m);
	assert_true(suspend_places_complete(&p, &r, m));
	assert_true(has_fp(&r, STACK + 64));
	mem_free(m);
}

static void test_other_place(void **state)
{
	const struct regs stopped = stopped_at(PC, STACK, STACK + 64);
	struct suspend_places p = {0};
	struct mem *m = new_stack();
	struct regs other_pc = at(PC + 1, STACK), other_sp = at(PC, STACK + 8);

	(void)state;
	suspend_places_keep(&p, &stopped, m);
	assert_false(suspend_places_complete(&p, &other_pc, m));
	assert_false(suspend_places_complete(&p, &other_sp, m));
	assert_false(regs_known(&other_pc, arch_host()->fp) || regs_known(&other_sp, arch_host()->fp));
	mem_free(m);
}

/* pc and sp are as they were, by another way. */
static void test_other_frame(void **state)
{
	const struct regs stopped = stopped_at(PC, STACK, STACK + 64);

	(void)state;
	for (unsigned changed = 8; changed <= 9; changed++) {
		struct suspend_places p = {0};
		struct mem *m = new_stack();
		struct regs r = at(PC, STACK);

		suspend_places_keep(&p, &stopped, m);
		mem_free(m);
		words[changed]++;
		m = stack_of();
		assert_false(suspend_places_complete(&p, &r, m));
		assert_false(regs_known(&r, arch_host()->fp));
		/* It is stopped there again, and known from then on. */
		suspend_places_keep(&p, &stopped, m);
		assert_true(suspend_places_complete(&p, &r, m));
		assert_true(has_fp(&r, STACK + 64));
		assert_int_equal(p.next, 1);
		mem_free(m);
	}
}

/* What is no frame pointer: stopping there once more would tell nothing. */
static void test_no_frame(void **state)
{
	/* Nothing there; below sp; in the kernel's half, whatever is read there. */
	const uint64_t wrong[] = {0,
				  7,
				  STACK - 8,
				  STACK + sizeof(words),
				  STACK + sizeof(words) - 8,
				  STACK,
				  arch_host()->user_limit,
				  UINT64_MAX,
				  UINT64_MAX - 7};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct regs stopped = stopped_at(PC, STACK + 8, wrong[i]);
		struct suspend_places p = {0};
		struct mem *m = new_stack();
		struct regs r = at(PC, STACK + 8);

		assert_int_equal(mem_pages_add(m, arch_host()->user_limit, words, sizeof(words)), 0);
		suspend_places_keep(&p, &stopped, m);
		assert_true(suspend_places_complete(&p, &r, m));
		assert_false(regs_known(&r, arch_host()->fp));
		mem_free(m);
	}
}

/* The frame that was known is gone with its memory. */
static void test_memory_gone(void **state)
{
	const struct regs stopped = stopped_at(PC, STACK, STACK + 64);
	struct suspend_places p = {0};
	struct mem *m = new_stack(), *empty = mem_pages_new();
	struct regs r = at(PC, STACK);

	(void)state;
	suspend_places_keep(&p, &stopped, m);
	assert_false(suspend_places_complete(&p, &r, empty));
	assert_false(regs_known(&r, arch_host()->fp));
	mem_free(empty);
	mem_free(m);
}

static void test_oldest_leaves(void **state)
{
	struct suspend_places p = {0};
	struct mem *m = new_stack();

	(void)state;
	for (uint64_t i = 0; i <= SUSPEND_PLACES; i++) {
		const struct regs stopped = stopped_at(PC + i, STACK, STACK + 64 + 8 * i);

		suspend_places_keep(&p, &stopped, m);
	}
	for (uint64_t i = 0; i <= SUSPEND_PLACES; i++) {
		struct regs r = at(PC + i, STACK);

		assert_int_equal(suspend_places_complete(&p, &r, m), i > 0);
		assert_int_equal(has_fp(&r, STACK + 64 + 8 * i), i > 0);
	}
	mem_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_place),  cmocka_unit_test(test_other_place),
		cmocka_unit_test(test_other_frame), cmocka_unit_test(test_no_frame),
		cmocka_unit_test(test_memory_gone), cmocka_unit_test(test_oldest_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
