#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/hash.h"

/* gcc defines the macros, clang has the features. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) ||               \
	__has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { STACKS = 100000, DEPTH = 60, KEYS = 200000, ROUNDS = 5, SITES = 250 };

/* Stack i: no two agree in more than a few frames, so that nothing can be shared between them. */
static void fill(struct frame_key *frames, uint32_t i)
{
	for (uint32_t k = 0; k < DEPTH; k++) {
		uint64_t r = hash_u64((uint64_t)i << 8 | k) % KEYS;

		frames[k] = (struct frame_key){.kind = FRAME_COMPILED, .id = r % 5000, .off = r};
	}
}

static size_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static uint64_t add_all(struct profile *p)
{
	struct frame_key frames[DEPTH];
	struct walk w = {.frames = frames, .n = DEPTH, .end = WALK_ROOT};
	uint64_t ns = 0, start;

	for (uint32_t i = 0; i < STACKS; i++) {
		fill(frames, i);
		start = clock_thread_cpu_ns();
		profile_add(p, 1, 1, THREAD_RUNNING, &w, 1);
		ns += clock_thread_cpu_ns() - start;
	}
	return ns;
}

static void many_distinct_stacks_are_small(void **state)
{
	size_t before = heap_bytes(), held;
	struct profile *p = profile_new((struct profile_options){0});
	uint64_t first = add_all(p), again = UINT64_MAX;
	struct profile_totals t;
	(void)state;

	/* The quickest round: others on the machine take caches too, not only time. */
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t took = add_all(p);

		again = took < again ? took : again;
	}
	held = heap_bytes() - before;
	t = profile_totals(p);
	print_message("%zu stacks, %zu frames: %.1f MB counted, %.1f MB on the heap\n", t.stacks, t.frames,
		      t.bytes / 1e6, held / 1e6);
	print_message("profile_add: %.0f ns for a new stack, %.0f ns for a known one (%d frames)\n",
		      (double)first / STACKS, (double)again / STACKS, DEPTH);
	assert_int_equal(t.stacks, STACKS);
	assert_int_equal(t.samples, STACKS * (ROUNDS + 1));
	assert_true(t.bytes < 40000000);
	if (!SANITIZED) {
		/* What is counted against --max-memory is what is really held. */
		assert_true(held < t.bytes + t.bytes / 20);
		assert_true(held > t.bytes - t.bytes / 20);
		/* The bar is 2 us; tests run beside others. */
		assert_true(again / STACKS < 10000);
	}
	profile_free(p);
}

/* Left or right by chance in each of 60 calls, some sites of each: hardly two stacks alike, as
 * scripts/bench has them (Ops diverse), of frames that most stacks have. */
static void branch(struct frame_key *frames, uint32_t i)
{
	for (uint32_t k = 0; k < DEPTH; k++) {
		uint64_t r = hash_u64((uint64_t)i << 8 | k) % SITES;

		frames[k] = (struct frame_key){.kind = FRAME_COMPILED, .id = r % 4, .off = r};
	}
}

/*
 * What is counted against --max-memory for a stack of frames that others have too, and its sample.
 * About 110 bytes of these are indexes and the sample; a number takes one byte or two. Sizes do not
 * depend on the machine, nor on the hash's seed.
 */
static void a_stack_of_known_frames_takes_few_bytes(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key frames[DEPTH];
	struct walk w = {.frames = frames, .n = DEPTH, .end = WALK_ROOT};
	size_t bytes;
	(void)state;

	for (uint32_t i = 0; i < STACKS; i++) {
		branch(frames, i);
		profile_add(p, 1, 1, THREAD_RUNNING, &w, 1);
	}
	bytes = profile_totals(p).bytes / STACKS;
	print_message("%zu bytes for a stack of %d of %d frames\n", bytes, DEPTH, SITES);
	assert_int_equal(profile_totals(p).stacks, STACKS);
	assert_int_equal(profile_totals(p).frames, SITES);
	assert_true(bytes < 220);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_distinct_stacks_are_small),
		cmocka_unit_test(a_stack_of_known_frames_takes_few_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
