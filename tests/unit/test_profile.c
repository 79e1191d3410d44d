#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "tests/support/storage_limit.h"

enum { PID = 7, STACK_MAX = 16 };

static struct frame_key key(uint8_t kind, uint32_t id, int64_t off)
{
	return (struct frame_key){.kind = kind, .id = id, .off = off};
}

static struct walk walk_of(struct frame_key *frames, uint32_t n)
{
	return (struct walk){.frames = frames, .n = n, .end = WALK_ROOT};
}

/* Frame numbers of a stack, leaf first; count returned. */
static size_t stack_frames(const struct profile *p, uint32_t stack, uint32_t frames[STACK_MAX])
{
	struct stack_cursor c = profile_stack(p, stack);
	size_t n = 0;

	assert_true(c.left <= STACK_MAX);
	while (profile_next(&c, &frames[n]))
		n++;
	assert_int_equal(c.left, 0);
	return n;
}

static enum frame_mark root_mark(const struct profile *p, uint32_t stack, size_t from_root)
{
	uint32_t frames[STACK_MAX];
	size_t n = stack_frames(p, stack, frames);
	const struct frame_key *k;

	if (from_root >= n)
		return MARK_NONE;
	k = profile_frame(p, frames[n - 1 - from_root]);
	return k->kind == FRAME_MARK ? (enum frame_mark)k->off : MARK_NONE;
}

/* The stack of the sample added last to a fresh profile. */
static uint32_t only_stack(const struct profile *p)
{
	assert_int_equal(profile_sample_count(p), 1);
	return profile_sample(p, 0).stack;
}

static void equal_stacks_are_one(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key a[] = {key(FRAME_NATIVE, 1, 16), key(FRAME_COMPILED, 2, 32)};
	struct frame_key b[] = {key(FRAME_NATIVE, 1, 16), key(FRAME_COMPILED, 2, 33)};
	struct walk wa = walk_of(a, 2), wb = walk_of(b, 2);
	uint32_t frames[STACK_MAX];
	(void)state;

	wa.java = true;
	for (int i = 0; i < 3; i++)
		profile_add(p, PID, 10 + i, THREAD_RUNNING, &wa, 5);
	profile_add(p, PID, 10, THREAD_PARKED, &wb, 7);
	assert_int_equal(profile_sample_count(p), 2);
	assert_int_equal(profile_sample(p, 0).count, 3);
	assert_int_equal(profile_sample(p, 0).weight, 15);
	assert_int_equal(profile_sample(p, 0).tid, 0);
	assert_int_equal(profile_sample(p, 1).weight, 7);
	assert_int_equal(profile_sample(p, 1).state, 0);
	assert_int_equal(profile_totals(p).stacks, 2);
	assert_int_equal(profile_totals(p).frames, 3);
	assert_int_equal(profile_totals(p).samples, 4);
	assert_int_equal(profile_totals(p).weight, 22);
	assert_int_equal(profile_totals(p).java, 3);
	assert_int_equal(profile_totals(p).java_complete, 3);
	assert_int_equal(stack_frames(p, profile_sample(p, 1).stack, frames), 2);
	assert_memory_equal(profile_frame(p, frames[0]), &b[0], sizeof(b[0]));
	assert_memory_equal(profile_frame(p, frames[1]), &b[1], sizeof(b[1]));
	profile_free(p);
}

/* One stack must not be taken for another that begins or ends like it, nor for its marked self. */
static void similar_stacks_differ(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key a[] = {key(FRAME_NATIVE, 1, 1), key(FRAME_NATIVE, 1, 2)};
	struct walk w = walk_of(a, 1);
	(void)state;

	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	w.n = 2;
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	w.end = WALK_NO_CFI;
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	assert_int_equal(profile_sample_count(p), 3);
	w.frames++;
	w.n = 1;
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	assert_int_equal(profile_sample_count(p), 4);
	profile_free(p);
}

static void threads_and_states_are_kept_apart(void **state)
{
	struct profile *p = profile_new((struct profile_options){.threads = true, .states = true});
	struct frame_key a[] = {key(FRAME_NATIVE, 1, 1)};
	struct walk w = walk_of(a, 1);
	(void)state;

	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	profile_add(p, PID, 2, THREAD_RUNNING, &w, 1);
	profile_add(p, PID, 2, THREAD_PARKED, &w, 1);
	profile_add(p, PID, 2, THREAD_PARKED, &w, 1);
	assert_int_equal(profile_sample_count(p), 3);
	assert_int_equal(profile_sample(p, 2).tid, 2);
	assert_int_equal(profile_sample(p, 2).state, THREAD_PARKED);
	assert_int_equal(profile_sample(p, 2).count, 2);
	assert_int_equal(profile_totals(p).stacks, 1);
	profile_free(p);
}

static void the_end_of_a_walk_marks_its_root(void **state)
{
	static const struct {
		struct walk w;
		enum frame_mark mark;
		bool complete, resynchronised, frozen;
	} cases[] = {
		{{.end = WALK_ROOT}, MARK_NONE, true, false, false},
		{{.end = WALK_ROOT, .resynchronised = true}, MARK_RESYNCHRONISED, false, true, false},
		{{.end = WALK_ROOT, .frozen = true}, MARK_FROZEN, false, false, true},
		{{.end = WALK_ROOT, .frozen = true, .resynchronised = true}, MARK_RESYNCHRONISED, false, true, false},
		{{.end = WALK_BAD_PC}, MARK_INCOMPLETE, false, false, false},
		{{.end = WALK_TOO_DEEP}, MARK_INCOMPLETE, false, false, false},
		{{.end = WALK_NO_CFI, .resynchronised = true, .frozen = true}, MARK_INCOMPLETE, false, false, false},
		/* A native frame, but no user registers: cannot be whole. */
		{{.end = WALK_NO_USER}, MARK_INCOMPLETE, false, false, false},
	};
	struct frame_key a[] = {key(FRAME_NATIVE, 1, 1)};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile *p = profile_new((struct profile_options){0});
		struct walk w = cases[i].w;
		struct profile_totals t;

		w.frames = a;
		w.n = 1;
		w.java = true;
		profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
		t = profile_totals(p);
		assert_int_equal(root_mark(p, only_stack(p), 0), cases[i].mark);
		assert_int_equal(t.complete, cases[i].complete);
		assert_int_equal(t.java_complete, cases[i].complete);
		assert_int_equal(t.resynchronised, cases[i].resynchronised);
		assert_int_equal(t.frozen, cases[i].frozen);
		assert_int_equal(t.ends[w.end], 1);
		profile_free(p);
	}
}

static void kernel_only_stacks_are_whole(void **state)
{
	struct frame_key a[] = {key(FRAME_KERNEL, 0, -4096), key(FRAME_MARK, 0, MARK_KERNEL)};
	(void)state;

	for (uint32_t n = 0; n <= 2; n++) {
		struct profile *p = profile_new((struct profile_options){0});
		struct walk w = walk_of(a, n);
		uint32_t frames[STACK_MAX];

		w.end = WALK_NO_USER;
		profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
		assert_int_equal(profile_totals(p).complete, 1);
		/* Without kernel frames [kernel] stands for them: no stack is empty. */
		assert_int_equal(stack_frames(p, only_stack(p), frames), n ? n : 1);
		assert_int_equal(root_mark(p, only_stack(p), 0), n == 1 ? MARK_NONE : MARK_KERNEL);
		profile_free(p);
	}
}

static void an_empty_walk_is_incomplete(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct walk w = walk_of(NULL, 0);
	(void)state;

	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	assert_int_equal(root_mark(p, only_stack(p), 0), MARK_INCOMPLETE);
	assert_int_equal(profile_totals(p).complete, 0);
	profile_free(p);
}

static void deep_stacks_keep_the_frames_at_the_leaf(void **state)
{
	struct profile *p = profile_new((struct profile_options){.depth = 4});
	struct frame_key a[6];
	struct walk w = walk_of(a, 4);
	uint32_t frames[STACK_MAX];
	uint32_t stack;
	(void)state;

	for (int i = 0; i < 6; i++)
		a[i] = key(FRAME_NATIVE, 1, i);
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	assert_int_equal(profile_totals(p).truncated, 0);
	w.n = 5;
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	/* What differs only beyond the depth is the same stack. */
	w.n = 6;
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	assert_int_equal(profile_sample_count(p), 2);
	stack = profile_sample(p, 1).stack;
	assert_int_equal(stack_frames(p, stack, frames), 5);
	assert_int_equal(profile_frame(p, frames[0])->off, 0);
	assert_int_equal(profile_frame(p, frames[3])->off, 3);
	assert_int_equal(root_mark(p, stack, 0), MARK_TRUNCATED);
	assert_int_equal(profile_totals(p).truncated, 2);
	assert_int_equal(profile_totals(p).complete, 3);
	/* Truncated and incomplete: both are to be seen. */
	w.end = WALK_BAD_MEMORY;
	profile_add(p, PID, 1, THREAD_RUNNING, &w, 1);
	stack = profile_sample(p, 2).stack;
	assert_int_equal(root_mark(p, stack, 0), MARK_INCOMPLETE);
	assert_int_equal(root_mark(p, stack, 1), MARK_TRUNCATED);
	profile_free(p);
}

/* Distinct stacks until long after the limit; none of the samples may be lost. */
static void beyond_the_limit_stacks_share_one(void **state)
{
	enum { MAX = 256 * 1024, N = 20000 };
	struct profile *p = profile_new((struct profile_options){.max_bytes = MAX, .threads = true});
	struct frame_key a[8] = {0};
	struct walk w = walk_of(a, 8);
	uint64_t count = 0, weight = 0, limited = 0;
	struct profile_totals t;
	(void)state;

	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 8; k++)
			a[k] = key(FRAME_NATIVE, 1 + k, i);
		profile_add(p, PID, i, THREAD_RUNNING, &w, 3);
		assert_true(profile_totals(p).bytes <= MAX);
	}
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		count += s.count;
		weight += s.weight;
		if (is_storage_limit(p, s.stack))
			limited += s.count;
	}
	t = profile_totals(p);
	assert_int_equal(count, N);
	assert_int_equal(weight, 3 * N);
	assert_int_equal(t.samples, N);
	assert_int_equal(t.storage_limit, limited);
	assert_true(limited > 0 && limited < N);
	/* The known ones are still counted where they belong. */
	for (int k = 0; k < 8; k++)
		a[k] = key(FRAME_NATIVE, 1 + k, 0);
	profile_add(p, PID, 0, THREAD_RUNNING, &w, 3);
	assert_int_equal(profile_totals(p).storage_limit, limited);
	/* Names do not go beyond it either. */
	for (int i = 0; i < N; i++)
		profile_set_thread_name(p, PID, i, "a thread with a name");
	assert_true(profile_totals(p).bytes <= 2 * MAX);
	profile_free(p);
}

static void a_limit_too_small_for_anything(void **state)
{
	struct profile *p = profile_new((struct profile_options){.max_bytes = 1});
	struct frame_key a[] = {key(FRAME_NATIVE, 1, 1)};
	struct walk w = walk_of(a, 1);
	(void)state;

	profile_add(p, PID, 1, THREAD_RUNNING, &w, 2);
	profile_add(p, PID, 2, THREAD_RUNNING, &w, 2);
	assert_true(is_storage_limit(p, only_stack(p)));
	assert_int_equal(profile_sample(p, 0).count, 2);
	assert_int_equal(profile_sample(p, 0).weight, 4);
	assert_int_equal(profile_sample(p, 0).pid, PID);
	assert_int_equal(root_mark(p, only_stack(p), 0), MARK_STORAGE_LIMIT);
	profile_free(p);
}

/* Whoever comes first takes it; what one gives back is there for the other. */
static void what_several_may_take_is_limited_too(void **state)
{
	enum { MAX = 1 << 20, STACKS = 40000 };
	struct profile_memory memory = {.max_bytes = MAX};
	struct profile_options o = {.max_bytes = MAX, .shared = &memory};
	struct profile *first = profile_new(o), *other = profile_new(o);
	struct frame_key frame = {.kind = FRAME_COMPILED};
	struct walk w = {.frames = &frame, .n = 1, .end = WALK_ROOT};
	uint64_t empty = memory.bytes / 2, taken;

	(void)state;
	for (frame.id = 0; frame.id < STACKS; frame.id++)
		profile_add(first, 1, 1, THREAD_RUNNING, &w, 1);
	taken = memory.bytes;
	assert_in_range(empty, 1, MAX / 16);
	assert_in_range(taken, MAX / 2, MAX);
	assert_true(profile_totals(first).storage_limit > 0);
	for (frame.id = 0; frame.id < STACKS; frame.id++)
		profile_add(other, 1, 1, THREAD_RUNNING, &w, 1);
	assert_in_range(memory.bytes, taken, MAX);
	assert_true(profile_totals(other).storage_limit > STACKS / 2);
	profile_free(first);
	assert_in_range(memory.bytes, 0, MAX / 2);
	for (frame.id = 0; frame.id < STACKS; frame.id++)
		profile_add(other, 1, 1, THREAD_RUNNING, &w, 1);
	assert_in_range(memory.bytes, MAX / 2, MAX);
	profile_free(other);
	assert_int_equal(memory.bytes, 0);
}

static void thread_names(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	(void)state;

	assert_null(profile_thread_name(p, PID, 1));
	profile_set_thread_name(p, PID, 1, "java");
	profile_set_thread_name(p, PID, 2, "");
	profile_set_thread_name(p, PID + 1, 1, "other");
	profile_set_thread_name(p, PID, 1, "http-nio-1");
	assert_string_equal(profile_thread_name(p, PID, 1), "http-nio-1");
	assert_string_equal(profile_thread_name(p, PID, 2), "");
	assert_string_equal(profile_thread_name(p, PID + 1, 1), "other");
	assert_null(profile_thread_name(p, PID + 1, 2));
	for (int i = 0; i < 5000; i++)
		profile_set_thread_name(p, PID, 100 + i, i % 2 ? "odd" : "even");
	assert_string_equal(profile_thread_name(p, PID, 100 + 4999), "odd");
	assert_string_equal(profile_thread_name(p, PID, 100 + 4998), "even");
	profile_free(p);
}

static void nothing_added(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct profile_totals t = profile_totals(p);
	(void)state;

	assert_int_equal(profile_sample_count(p), 0);
	assert_int_equal(t.samples, 0);
	assert_int_equal(t.stacks, 0);
	assert_int_equal(t.frames, 0);
	profile_free(p);
	profile_free(NULL);
}

static void enums_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < WALK_ENDS; i++) {
		assert_string_not_equal(walk_end_name(i), "?");
		for (int k = 0; k < i; k++)
			assert_string_not_equal(walk_end_name(i), walk_end_name(k));
	}
	assert_string_equal(walk_end_name(WALK_ENDS), "?");
	for (int i = 0; i < THREAD_STATES; i++)
		assert_string_not_equal(thread_state_name(i), "unknown");
	for (int i = MARK_NONE + 1; i < FRAME_MARKS; i++)
		assert_true(frame_mark_text(i) || i == MARK_KERNEL || i == MARK_VIRTUAL);
}

static void what_was_not_sampled_is_no_sample(void **state)
{
	struct profile *p = profile_new((struct profile_options){.threads = true});
	struct frame_key a[] = {key(FRAME_NATIVE, 1, 16)};
	struct walk w = walk_of(a, 1);
	struct profile_totals t, sum = {0};
	(void)state;

	profile_add(p, PID, 10, THREAD_RUNNING, &w, 5);
	profile_add_unsampled(p, PID, 10, MARK_UNSAMPLED_SHORT, 2, 11);
	profile_add_unsampled(p, PID, 10, MARK_UNSAMPLED_SHORT, 1, 4);
	profile_add_unsampled(p, PID, 11, MARK_UNSAMPLED_KERNEL, 0, 3);
	t = profile_totals(p);
	assert_int_equal(t.samples, 1);
	assert_int_equal(t.complete, 1);
	assert_int_equal(t.weight, 5);
	assert_int_equal(t.unsampled_short, 15);
	assert_int_equal(t.unsampled_kernel, 3);
	profile_totals_add(&sum, &t);
	profile_totals_add(&sum, &t);
	assert_int_equal(sum.unsampled_short, 30);
	assert_int_equal(sum.unsampled_kernel, 6);

	assert_int_equal(profile_sample_count(p), 3);
	assert_int_equal(profile_sample(p, 1).count, 3);
	assert_int_equal(profile_sample(p, 1).weight, 15);
	assert_int_equal(profile_sample(p, 1).tid, 10);
	assert_int_equal(root_mark(p, profile_sample(p, 1).stack, 0), MARK_UNSAMPLED_SHORT);
	assert_int_equal(root_mark(p, profile_sample(p, 2).stack, 0), MARK_UNSAMPLED_KERNEL);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one),
		cmocka_unit_test(similar_stacks_differ),
		cmocka_unit_test(threads_and_states_are_kept_apart),
		cmocka_unit_test(the_end_of_a_walk_marks_its_root),
		cmocka_unit_test(kernel_only_stacks_are_whole),
		cmocka_unit_test(an_empty_walk_is_incomplete),
		cmocka_unit_test(deep_stacks_keep_the_frames_at_the_leaf),
		cmocka_unit_test(beyond_the_limit_stacks_share_one),
		cmocka_unit_test(a_limit_too_small_for_anything),
		cmocka_unit_test(what_several_may_take_is_limited_too),
		cmocka_unit_test(thread_names),
		cmocka_unit_test(nothing_added),
		cmocka_unit_test(enums_have_names),
		cmocka_unit_test(what_was_not_sampled_is_no_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
