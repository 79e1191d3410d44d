#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/folded_lines.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/hash.h"

enum { STACKS = 100000, DEPTH = 60, LOCATIONS = 20000, SAMPLES = 1000000 };

/* Stacks that share a root part of some length with others, as real ones do. */
static void fill(uint32_t *at, uint32_t i, const uint32_t *locations)
{
	for (uint32_t k = 0; k < DEPTH; k++) {
		uint32_t from_root = DEPTH - 1 - k;
		uint64_t group = from_root < 20 ? 0 : from_root < 50 ? i % 500 : i;

		at[k] = locations[hash_u64(group << 8 | k) % LOCATIONS];
	}
}

static struct named_profile *make(void)
{
	struct named_builder *b = named_builder_new();
	uint32_t *locations = malloc(LOCATIONS * sizeof(*locations)), at[DEPTH];
	char name[64];

	for (uint32_t i = 0; i < LOCATIONS; i++) {
		struct named_line l = {.kind = NAMED_C2, .line = i % 100};

		snprintf(name, sizeof(name), "org/example/pkg%u/Class%u.method", i % 50, i / 3);
		l.function = named_builder_function(b, name, "", "");
		locations[i] = named_builder_location(b, 0, 0, &l, 1);
	}
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct named_sample s = {.count = 1, .weight = 10};

		fill(at, i % STACKS, locations);
		s.stack = named_builder_stack(b, at, DEPTH);
		named_builder_sample(b, &s);
	}
	free(locations);
	return named_builder_take(b);
}

struct lines {
	uint64_t count, samples, unsorted;
	char *line, *last;
	size_t len, cap;
};

/* Checks line by line that the text is sorted and that the counts add up. */
static int check_sink(void *ctx, const char *bytes, size_t len)
{
	struct lines *l = ctx;

	for (size_t i = 0; i < len; i++) {
		assert_true(l->len < l->cap - 1);
		if (bytes[i] != '\n') {
			/* ';' sorts below everything that is in the names here. */
			l->line[l->len++] = bytes[i] == ';' ? '\1' : bytes[i];
			continue;
		}
		l->line[l->len] = '\0';
		l->samples += strtoull(strrchr(l->line, ' '), NULL, 10);
		*strrchr(l->line, ' ') = '\0';
		l->unsorted += strcmp(l->last, l->line) >= 0;
		memcpy(l->last, l->line, l->len + 1);
		l->len = 0;
		l->count++;
	}
	return 0;
}

static void a_million_samples(void **state)
{
	uint64_t start = clock_process_cpu_ns(), built, written;
	struct named_profile *np = make();
	struct lines l = {.cap = 1 << 16};
	struct writer_options o = {0};
	FILE *null = fopen("/dev/null", "w");
	uint64_t lines;
	(void)state;

	built = clock_process_cpu_ns();
	assert_int_equal(writer_folded.write(np, &o, null, NULL), 0);
	written = clock_process_cpu_ns();
	print_message("%d samples, %u stacks: builder %.2f s, folded %.2f s\n", SAMPLES, np->n_stacks,
		      (built - start) / 1e9, (written - built) / 1e9);
	fclose(null);
	l.line = malloc(l.cap);
	l.last = calloc(1, l.cap);
	assert_int_equal(folded_lines(np, &o, check_sink, &l, &lines, NULL), 0);
	assert_int_equal(l.count, lines);
	assert_int_equal(l.samples, SAMPLES);
	assert_int_equal(l.unsorted, 0); /* neither out of order nor twice */
	free(l.line);
	free(l.last);
	named_profile_free(np);
}

/* Recursion: every stack is a root part of the next, the worst case for a sort. */
static void a_staircase(void **state)
{
	enum { STEPS = 2000 };
	struct named_builder *b = named_builder_new();
	struct named_line line = {.function = named_builder_function(b, "f", "", "")};
	uint32_t at[STEPS], loc = named_builder_location(b, 0, 0, &line, 1);
	struct named_profile *np;
	uint64_t lines;
	struct lines l = {.cap = 1 << 16};
	(void)state;

	for (uint32_t i = 0; i < STEPS; i++)
		at[i] = loc;
	for (uint32_t i = STEPS; i > 0; i--) {
		struct named_sample s = {.count = 1};

		s.stack = named_builder_stack(b, at, i);
		named_builder_sample(b, &s);
	}
	np = named_builder_take(b);
	l.line = malloc(l.cap);
	l.last = calloc(1, l.cap);
	assert_int_equal(folded_lines(np, &(struct writer_options){0}, check_sink, &l, &lines, NULL), 0);
	assert_int_equal(lines, STEPS);
	assert_int_equal(l.unsorted, 0);
	free(l.line);
	free(l.last);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_samples),
		cmocka_unit_test(a_staircase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
