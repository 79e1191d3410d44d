#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/engine/perf/copies/stack_rest.h"
#include "sampler/engine/perf/copies/stack_size.h"
#include "sampler/engine/perf/wake_mode.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

#define SECOND UINT64_C(1000000000)

/* `n` samples, every `cut_every`th cut; the first answer that is not 0. */
static uint32_t feed(struct stack_size *s, int n, int cut_every, uint64_t used, uint64_t now)
{
	for (int i = 1; i <= n; i++) {
		uint32_t r = stack_size_note(s, used, cut_every && i % cut_every == 0, now);

		if (r)
			return r;
	}
	return 0;
}

/* The largest size first; smaller ones where nothing is deep. */
static void test_shrinks(void **state)
{
	struct stack_size s;

	(void)state;
	stack_size_init(&s, 0, 65528);
	assert_int_equal(s.now, 65528);
	assert_int_equal(feed(&s, 5000, 0, 13000, SECOND), 0); /* too early */
	assert_int_equal(feed(&s, 5000, 0, 13000, 4 * SECOND), 32768);
	stack_size_changed(&s, 32768, true, 4 * SECOND);
	assert_int_equal(feed(&s, 5000, 0, 3000, 4 * SECOND + SECOND / 2), 0);
	assert_int_equal(feed(&s, 5000, 0, 3000, 20 * SECOND), 8192);
	stack_size_changed(&s, 8192, true, 20 * SECOND);
	assert_int_equal(feed(&s, 5000, 0, 3000, 60 * SECOND), 0); /* no smaller one */
}

static void test_grows(void **state)
{
	struct stack_size s;

	(void)state;
	stack_size_init(&s, 0, 65528);
	stack_size_changed(&s, 16384, true, SECOND);
	assert_int_equal(feed(&s, 10000, 1000, 12000, SECOND), 0); /* 0.1 % is fine */
	assert_int_equal(feed(&s, 10000, 100, 12000, SECOND), 32768);
	stack_size_changed(&s, 32768, true, SECOND);
	assert_int_equal(feed(&s, 10000, 2, 32768, SECOND), 65528);
	stack_size_changed(&s, 65528, true, SECOND);
	assert_int_equal(feed(&s, 10000, 1, 65528, SECOND), 0); /* no larger one */
	assert_int_equal(feed(&s, 10000, 0, 100, 100 * SECOND), 0); /* it grew: stays */
}

static void test_one_cut_decides_nothing(void **state)
{
	struct stack_size s;

	(void)state;
	stack_size_init(&s, 0, 65528);
	stack_size_changed(&s, 16384, true, SECOND);
	assert_int_equal(feed(&s, 1, 1, 16384, SECOND), 0);
}

static void test_deep_stacks_keep_it(void **state)
{
	struct stack_size s;

	(void)state;
	stack_size_init(&s, 0, 65528);
	assert_int_equal(feed(&s, 5000, 0, 25000, SECOND), 0);
	assert_int_equal(feed(&s, 5000, 0, 25000, 40 * SECOND), 0);
}

static void test_limits(void **state)
{
	struct stack_size s;

	(void)state;
	stack_size_init(&s, 0, 8192); /* a ring of 64 KiB */
	assert_int_equal(s.now, 8192);
	assert_int_equal(feed(&s, 1000, 1, 8192, SECOND), 0);
	stack_size_init(&s, 1001, 65528);
	assert_int_equal(s.now, 1000);
	stack_size_init(&s, UINT32_MAX, 65528);
	assert_int_equal(s.now, 65528);
	stack_size_init(&s, 0, 65528);
	stack_size_changed(&s, 32768, false, SECOND); /* it could not be done */
	assert_int_equal(s.now, 65528);
	assert_int_equal(feed(&s, 5000, 0, 100, 40 * SECOND), 0);
}

static void test_losses_shrink_it(void **state)
{
	struct stack_size s;

	(void)state;
	stack_size_init(&s, 0, 65528);
	assert_int_equal(stack_size_lost(&s), 0); /* nothing is known */
	assert_int_equal(feed(&s, 31, 0, 5000, SECOND), 0);
	assert_int_equal(stack_size_lost(&s), 0);
	assert_int_equal(feed(&s, 1, 0, 7000, SECOND), 0);
	assert_int_equal(stack_size_lost(&s), 16384);
	assert_int_equal(feed(&s, 1, 1, 65528, SECOND), 0); /* one stack that needs it */
	assert_int_equal(stack_size_lost(&s), 0);
	stack_size_init(&s, 0, 65528);
	stack_size_changed(&s, 16384, true, SECOND);
	stack_size_changed(&s, 32768, true, SECOND); /* it grew: stays */
	assert_int_equal(feed(&s, 100, 0, 1000, SECOND), 0);
	assert_int_equal(stack_size_lost(&s), 0);
	stack_size_init(&s, 65528, 65528); /* as requested */
	assert_int_equal(feed(&s, 100, 0, 1000, SECOND), 0);
	assert_int_equal(stack_size_lost(&s), 0);
}

enum { PAGES = 4 };

struct area {
	struct stack_rest rest;
	size_t page;
	uint8_t *base; /* PAGES pages, then one that cannot be read */
};

static void area_init(struct area *a)
{
	memset(a, 0, sizeof(*a));
	a->page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(proc_open(getpid(), &a->rest.proc, NULL), 0);
	a->base = mmap(NULL, a->page * (PAGES + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(a->base, MAP_FAILED);
	for (size_t i = 0; i < a->page * PAGES; i++)
		a->base[i] = (uint8_t)(i * 31 >> 3);
	mprotect(a->base + a->page * PAGES, a->page, PROT_NONE);
}

static void area_done(struct area *a)
{
	munmap(a->base, a->page * (PAGES + 1));
	stack_rest_done(&a->rest);
	proc_close(a->rest.proc);
}

/* The copy of the `len` bytes in front of `end`, as they are now. */
static struct stack_copy copy_of(uint64_t end, size_t len)
{
	return (struct stack_copy){.addr = end - len,
				   .bytes = (const uint8_t *)(uintptr_t)(end - len),
				   .len = len,
				   .time_ns = clock_monotonic_ns()};
}

static void test_rest_is_joined(void **state)
{
	struct area a;
	uint8_t dst[16384];
	struct stack_copy copy;
	uint64_t end, wanted;

	(void)state;
	area_init(&a);
	end = (uintptr_t)a.base + a.page * 2 + 8;
	copy = copy_of(end, 512);
	wanted = stack_rest_beyond(&a.rest, end, copy.time_ns);
	assert_int_equal(wanted, a.page * 2 - 8);
	copy.time_ns += SECOND; /* however slow this machine is */
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, wanted, copy.time_ns), wanted);
	assert_memory_equal(dst, a.base + a.page * 2 + 8, wanted);
	area_done(&a);
}

static void test_rest_that_does_not_join(void **state)
{
	struct area a;
	uint8_t dst[16384], copied[1024];
	struct stack_copy copy;
	uint64_t now = clock_monotonic_ns();

	(void)state;
	area_init(&a);
	copy = copy_of((uintptr_t)a.base + a.page, sizeof(copied));
	memcpy(copied, copy.bytes, sizeof(copied));
	copy.bytes = copied;
	copied[0] ^= 1; /* the thread went on, if only in its leaf */
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, a.page, now), 0);
	/* The result of a system call, but no more than that. */
	copy.in_kernel = true;
	copy.time_ns = now + SECOND; /* however slow this machine is */
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, a.page, now), a.page);
	copied[STACK_REST_RESULT] ^= 1;
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, a.page, now), 0);
	copied[STACK_REST_RESULT] ^= 1;
	copied[0] ^= 1;
	copy.in_kernel = false;
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, a.page, now), a.page);
	/* Too late: the same again proves nothing. */
	copy.time_ns = now - STACK_REST_AGE_NS - 1000000;
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, a.page, now), 0);
	/* Not mapped at all. */
	assert_true(stack_rest_beyond(&a.rest, 64, 2 * SECOND) == STACK_REST_UNKNOWN);
	copy.addr = 8192;
	copy.time_ns = clock_monotonic_ns();
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, 64, copy.time_ns), 0);
	copy.len = STACK_REST_COPY_MAX + 8;
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, 64, copy.time_ns), 0);
	assert_true(stack_rest_beyond(&a.rest, 0, 3 * SECOND) == STACK_REST_UNKNOWN);
	/* At its end there is nothing more. */
	assert_int_equal(stack_rest_beyond(&a.rest, (uintptr_t)a.base + a.page * PAGES, SECOND), 0);
	area_done(&a);
}

static bool is_present(const uint8_t *page)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &entry, 8, (off_t)((uintptr_t)page / (size_t)sysconf(_SC_PAGESIZE) * 8)), 8);
	close(fd);
	return entry >> 63;
}

/* A page that was never touched comes into being when it is read from outside; nothing below `from` does. */
static void test_touch(void **state)
{
	struct area a;
	uint8_t dst[16384];
	struct stack_copy copy;

	(void)state;
	area_init(&a);
	madvise(a.base, a.page * 3, MADV_DONTNEED);
	assert_false(is_present(a.base + a.page));
	stack_rest_touch(&a.rest, (uintptr_t)a.base + a.page + 8, a.page, clock_monotonic_ns());
	assert_false(is_present(a.base));
	assert_true(is_present(a.base + a.page));
	assert_true(is_present(a.base + a.page * 2));
	/* What is not mapped, and nothing at all, does no harm. */
	stack_rest_touch(&a.rest, 4096, 1 << 20, clock_monotonic_ns());
	stack_rest_touch(&a.rest, UINT64_MAX - 100, 4096, clock_monotonic_ns());
	stack_rest_touch(&a.rest, (uintptr_t)a.base, 0, clock_monotonic_ns());
	assert_false(is_present(a.base));
	/* The rest behind a hole is read as any other. */
	madvise(a.base + a.page * 2, a.page, MADV_DONTNEED);
	copy = copy_of((uintptr_t)a.base + a.page * 2, 512);
	copy.time_ns += SECOND; /* however slow this machine is */
	assert_int_equal(stack_rest_read(&a.rest, &copy, dst, a.page * 2, copy.time_ns), a.page * 2);
	assert_int_equal(dst[0], 0);
	assert_memory_equal(dst + a.page, a.base + a.page * 3, a.page);
	area_done(&a);
}

static void test_rest_has_a_budget(void **state)
{
	static uint8_t dst[1 << 20];
	struct area a;
	struct stack_copy copy;
	uint64_t now = clock_monotonic_ns();
	unsigned joined = 0;

	(void)state;
	area_init(&a);
	for (int i = 0; i < 1000; i++) {
		copy = copy_of((uintptr_t)a.base + a.page, 512);
		copy.time_ns += SECOND; /* however slow this machine is */
		joined += stack_rest_read(&a.rest, &copy, dst, sizeof(dst), copy.time_ns) > 0;
		if (clock_monotonic_ns() - now > SECOND / 2)
			break;
	}
	assert_in_range(joined, 1, 600); /* 256 at once, and what half a second adds */
	copy = copy_of((uintptr_t)a.base + a.page, 512);
	assert_true(stack_rest_read(&a.rest, &copy, dst, sizeof(dst), copy.time_ns + 3 * SECOND) == 0);
	area_done(&a);
}

/* `n` samples, every `cut_every`th cut; the first mode that is not the present one. */
static enum wake_mode feed_wake(struct wake *w, int n, int cut_every, uint64_t now)
{
	for (int i = 1; i <= n; i++) {
		enum wake_mode m = wake_note(w, cut_every && i % cut_every == 0, now);

		if (m != w->mode)
			return m;
	}
	return w->mode;
}

static void test_wake_modes(void **state)
{
	struct wake w = {0};

	(void)state;
	assert_int_equal(w.mode, WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 10, 0, SECOND), WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 10, 0, SECOND), WAKE_FIRST); /* the target may be starting */
	assert_int_equal(feed_wake(&w, 100, 0, SECOND + SECOND / 4), WAKE_FIRST); /* and has few turns */
	assert_int_equal(feed_wake(&w, 500, 0, SECOND + SECOND / 4), WAKE_BATCH);
	wake_hole(&w, SECOND + SECOND / 4);
	assert_int_equal(feed_wake(&w, 1, 0, SECOND + SECOND / 4 + SECOND / 20), WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 1, 0, SECOND + SECOND / 2), WAKE_BATCH);
	wake_hole(&w, 4 * SECOND);
	assert_int_equal(feed_wake(&w, 1, 0, 4 * SECOND), WAKE_BATCH); /* not for ever */
	wake_changed(&w, WAKE_BATCH, SECOND);
	assert_int_equal(feed_wake(&w, 20000, 1000, SECOND), WAKE_BATCH);
	assert_int_equal(feed_wake(&w, 20000, 100, SECOND), WAKE_DEEP);
	wake_changed(&w, WAKE_DEEP, SECOND);
	assert_int_equal(feed_wake(&w, 20000, 0, 2 * SECOND), WAKE_DEEP); /* too early */
	assert_int_equal(feed_wake(&w, 20000, 0, 30 * SECOND), WAKE_BATCH);
	wake_changed(&w, WAKE_DEEP, 30 * SECOND); /* it was not possible */
	assert_int_equal(feed_wake(&w, 20000, 2, 60 * SECOND), WAKE_DEEP);
	wake_changed(&w, WAKE_FIRST, 0);
	assert_int_equal(feed_wake(&w, 10, 5, SECOND), WAKE_DEEP); /* at the start one is enough */
}

/* What a recording of a second costs a program that has run for hours is the cost of this. */
static void test_wake_of_a_program_that_has_run(void **state)
{
	struct wake w = {.settled = true};

	(void)state;
	assert_int_equal(feed_wake(&w, 15, 0, SECOND), WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 1, 0, SECOND), WAKE_BATCH);
	w = (struct wake){.settled = true};
	assert_int_equal(feed_wake(&w, 10, 0, SECOND), WAKE_FIRST);
	wake_hole(&w, SECOND);
	assert_int_equal(feed_wake(&w, 10, 0, SECOND + SECOND / 20), WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 1, 0, SECOND + SECOND / 2), WAKE_BATCH);
	w = (struct wake){.settled = true};
	assert_int_equal(feed_wake(&w, 10, 5, SECOND), WAKE_DEEP);
}

static void test_wake_of_a_program_that_starts(void **state)
{
	struct wake w = {.starting = true};

	(void)state;
	assert_int_equal(feed_wake(&w, 10000, 0, SECOND), WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 10000, 0, 2 * SECOND), WAKE_FIRST);
	assert_int_equal(feed_wake(&w, 1, 0, 3 * SECOND), WAKE_BATCH);
}

enum { COPY = 4096 };
#define BLOCK UINT64_C(0x7f0000002140)

/* The head of a thread's control block, where its own address says it is. */
static void put_block(uint8_t *copy, uint64_t addr, uint64_t block)
{
	memcpy(copy + (block - addr), &block, 8);
	memcpy(copy + (block - addr) + 16, &block, 8);
}

static void test_stack_ends(void **state)
{
	static struct stack_ends e;
	uint64_t addr = BLOCK - 1000, pointer = BLOCK;
	uint8_t copy[COPY] = {0};

	(void)state;
	memset(&e, 0, sizeof(e));
	assert_int_equal(stack_end_find(&e, 7, addr, copy, COPY), 0);
	put_block(copy, addr, BLOCK);
	assert_int_equal(stack_end_find(&e, 7, addr, copy, COPY), 1024);
	assert_int_equal(stack_end_find(&e, 7, addr, copy, COPY), 1024);
	assert_int_equal(stack_end_find(&e, 7, addr, copy, 1024), 1024);
	/* Not whole in the copy; in front of it; no copy. */
	assert_int_equal(stack_end_find(&e, 7, addr, copy, 1023), 0);
	assert_int_equal(stack_end_find(&e, 7, BLOCK + 8, copy, COPY), 0);
	assert_int_equal(stack_end_find(&e, 7, addr, copy, 0), 0);
	/* Deeper, as far as it is copied. */
	memset(copy, 0, COPY);
	put_block(copy, BLOCK - 2000, BLOCK);
	assert_int_equal(stack_end_find(&e, 7, BLOCK - 2000, copy, COPY), 2024);
	/* A pointer to the block is no block; nor is one that is not aligned. */
	memset(copy, 0, COPY);
	memcpy(copy + 64, &pointer, 8);
	memcpy(copy + 80, &pointer, 8);
	put_block(copy, addr, addr + 512);
	assert_true((addr + 512) % 64);
	assert_int_equal(stack_end_find(&e, 7, addr, copy, COPY), 0);
}

/* Threads share a place in the table, and a thread's id another thread later. */
static void test_stack_ends_of_others(void **state)
{
	static struct stack_ends e;
	uint64_t other = BLOCK + (1 << 20);
	uint8_t copy[COPY] = {0}, copy2[COPY] = {0};

	(void)state;
	memset(&e, 0, sizeof(e));
	put_block(copy, BLOCK - 1000, BLOCK);
	put_block(copy2, other - 2000, other);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stack_end_find(&e, 7, BLOCK - 1000, copy, COPY), 1024);
		assert_int_equal(stack_end_find(&e, 7 + STACK_END_THREADS, other - 2000, copy2, COPY), 2024);
		assert_int_equal(stack_end_find(&e, 7, other - 2000, copy2, COPY), 2024);
	}
	/* At either end of the address space. */
	assert_int_equal(stack_end_find(&e, 7, UINT64_MAX - 100, copy, COPY), 0);
	assert_int_equal(stack_end_find(&e, -1, 0, copy, COPY), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_one_cut_decides_nothing),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_deep_stacks_keep_it),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_losses_shrink_it),
		cmocka_unit_test(test_rest_is_joined),
		cmocka_unit_test(test_rest_that_does_not_join),
		cmocka_unit_test(test_touch),
		cmocka_unit_test(test_rest_has_a_budget),
		cmocka_unit_test(test_wake_modes),
		cmocka_unit_test(test_wake_of_a_program_that_has_run),
		cmocka_unit_test(test_wake_of_a_program_that_starts),
		cmocka_unit_test(test_stack_ends),
		cmocka_unit_test(test_stack_ends_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
