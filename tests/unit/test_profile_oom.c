#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/folded_lines.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_filter.h"
#include "sampler/profile/profile.h"
#include "tests/support/storage_limit.h"

/*
 * Runs with each allocation failing in turn, and with all from there on (linked with --wrap). Leaks
 * and wrong accesses are for the sanitizers to find.
 */
static long left = -1; /* allocations until the first that fails; -1: none fails */
static bool for_good;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool fails(void)
{
	if (left < 0 || left-- > 0)
		return false;
	left = for_good ? 0 : -2;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static void count_samples(void)
{
	enum { N = 3000 };
	struct profile *p = profile_new((struct profile_options){.threads = true});
	struct frame_key frames[8] = {0};
	struct walk w = {.frames = frames, .n = 8, .end = WALK_ROOT};
	uint64_t count = 0, limited = 0;

	if (!p)
		return;
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 8; k++)
			frames[k].off = i % 1000 * 8 + k;
		profile_add(p, 1, i % 7, THREAD_RUNNING, &w, 1);
		if (i % 100 == 0)
			profile_set_thread_name(p, 1, i, "name");
	}
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		count += s.count;
		limited += is_storage_limit(p, s.stack) ? s.count : 0;
	}
	assert_int_equal(count, N);
	assert_int_equal(profile_totals(p).storage_limit, limited);
	profile_free(p);
}

static void build(struct named_builder *b)
{
	char text[32];

	for (uint32_t i = 0; i < 300; i++) {
		struct named_line l[2] = {{.line = i}, {.line = 1}};
		struct named_sample s = {.count = 1};
		uint32_t loc;

		snprintf(text, sizeof(text), "f%u", i);
		l[0].function = named_builder_function(b, text, text, "");
		l[1].function = l[0].function;
		loc = named_builder_location(b, named_builder_mapping(b, text, ""), i, l, 2);
		s.stack = named_builder_stack(b, &loc, 1);
		s.thread = named_builder_string(b, text);
		named_builder_sample(b, &s);
	}
	named_builder_meta(b)->event = named_builder_keep(b, "cpu");
}

static int discard(void *ctx, const char *bytes, size_t len)
{
	(void)bytes;
	*(size_t *)ctx += len;
	return 0;
}

static void build_and_write(void)
{
	static const char *const seven[] = {"7"};
	struct named_builder *b = named_builder_new(), *c = named_builder_new();
	struct named_profile *np = NULL, *kept = NULL;
	size_t len = 0;
	int rc;

	if (b) {
		build(b);
		np = named_builder_take(b);
	}
	if (np) {
		assert_int_equal(np->n_samples, 300);
		rc = named_filter_apply(np, &(struct named_filter){.include = seven, .n_include = 1}, &kept, NULL,
					NULL);
		/* regcomp() says "out of memory" as an expression it cannot take. */
		assert_true((rc == 0) == (kept != NULL) && (!rc || rc == -ENOMEM || rc == -EINVAL));
		rc = folded_lines(np, &(struct writer_options){0}, discard, &len, NULL, NULL);
		assert_true(rc == -ENOMEM || (rc == 0 && len > 0));
		if (c && named_builder_add(c, np) == 0) {
			named_profile_free(kept);
			kept = named_builder_take(c);
			assert_true(!kept || kept->n_samples == 300);
			c = NULL;
		}
	}
	named_builder_free(c);
	named_profile_free(kept);
	named_profile_free(np);
}

static void with_every_failure(void (*scenario)(void))
{
	for (int way = 0; way < 2; way++) {
		long n = 0;

		for (;; n++) {
			for_good = way;
			left = n;
			scenario();
			if (left > 0) /* none failed */
				break;
		}
		left = -1;
		assert_true(n > 20);
	}
}

static void samples_are_counted_without_memory(void **state)
{
	(void)state;
	with_every_failure(count_samples);
}

static void naming_fails_cleanly_without_memory(void **state)
{
	(void)state;
	with_every_failure(build_and_write);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_counted_without_memory),
		cmocka_unit_test(naming_fails_cleanly_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
