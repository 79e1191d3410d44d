#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "sampler/pprof/profile.pb-c.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "tests/support/folded_text.h"

/* A message made field by field, as other programs make them: in another order than ours, with
 * numbers packed or not. */

static void put_number(struct buf *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		buf_add(b, &(uint8_t){(v & 0x7f) | 0x80}, 1);
	buf_add(b, &(uint8_t){v}, 1);
}

static void put(struct buf *b, int field, uint64_t v)
{
	put_number(b, field << 3);
	put_number(b, v);
}

static void put_bytes(struct buf *b, int field, const void *bytes, size_t len)
{
	put_number(b, field << 3 | 2);
	put_number(b, len);
	buf_add(b, bytes, len);
}

static void put_text(struct buf *b, const char *s)
{
	put_bytes(b, 6, s, strlen(s));
}

static void put_part(struct buf *b, int field, struct buf *part)
{
	put_bytes(b, field, part->data ? part->data : "", part->len);
	buf_done(part);
}

/* n pairs of a field and its number. */
static void put_message(struct buf *b, int field, int n, ...)
{
	struct buf part = {0};
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < n; i++) {
		int f = va_arg(ap, int);

		put(&part, f, va_arg(ap, int));
	}
	va_end(ap);
	put_part(b, field, &part);
}

/* Location `id` with one line. */
static void put_location(struct buf *b, int id, int mapping, int function, int line)
{
	struct buf part = {0};

	put(&part, 1, id);
	if (mapping)
		put(&part, 2, mapping);
	put_message(&part, 4, 2, 1, function, 2, line);
	put_part(b, 4, &part);
}

static struct named_profile *parse(struct buf *b)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	if (reader_parse_profile(b->data, b->len, "p", &np, NULL, &err))
		fail_msg("%s", err.msg);
	buf_done(b);
	return np;
}

enum { EMPTY, SAMPLES, COUNT, CPU, NS, PATH, MAIN_MAIN, RUNTIME, MAIN_GO, BUILD_ID, KEY };

/* As Go's runtime writes it: two values, texts last, packed numbers. */
static void put_go(struct buf *b)
{
	static const char *const texts[] = {
		"",          "samples",      "count",        "cpu",  "nanoseconds", "/usr/bin/shop",
		"main.main", "runtime.main", "/src/main.go", "abcd", "label"};
	struct buf part = {0};

	put_message(b, 1, 2, 1, SAMPLES, 2, COUNT);
	put_message(b, 1, 2, 1, CPU, 2, NS);
	put_bytes(&part, 1, "\x01\x02", 2);
	put_bytes(&part, 2, "\x03\x2a", 2);
	put_message(&part, 3, 2, 1, KEY, 2, PATH);
	put_part(b, 2, &part);
	put_message(b, 3, 7, 1, 1, 2, 0x400000, 3, 0x500000, 5, PATH, 6, BUILD_ID, 7, 1, 8, 1);
	put_location(b, 1, 1, 1, 12);
	put_location(b, 2, 1, 2, 250);
	put_message(b, 5, 4, 1, 1, 2, MAIN_MAIN, 3, MAIN_MAIN, 4, MAIN_GO);
	put_message(b, 5, 4, 1, 2, 2, RUNTIME, 3, RUNTIME, 4, MAIN_GO);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(b, texts[i]);
	put(b, 9, 1790000000000000000);
	put(b, 10, 5000000000);
	put_message(b, 11, 2, 1, CPU, 2, NS);
	put(b, 12, 10000000);
}

static void go_is_read(void **state)
{
	struct buf b = {0};
	struct named_profile *np;

	(void)state;
	put_go(&b);
	np = parse(&b);
	check_folded(np, true, "runtime.main;main.main 3\n");
	assert_int_equal(np->samples[0].weight, 42);
	assert_string_equal(np->meta.event, "cpu");
	assert_string_equal(np->meta.unit, "nanoseconds");
	assert_int_equal(np->meta.period, 10000000);
	assert_int_equal(np->lines[0].kind, NAMED_NATIVE);
	assert_int_equal(np->lines[0].line, 12);
	assert_string_equal(named_string(np, np->mappings[1].build_id), "abcd");
	named_profile_free(np);
}

/* As async-profiler's converter: one value, not packed, no mapping, suffixes in no name. */
static void async_profiler_is_read(void **state)
{
	struct buf b = {0}, part = {0};
	struct named_profile *np;

	(void)state;
	put_message(&b, 1, 2, 1, 1, 2, 2);
	put(&b, 13, 3);
	put_bytes(&part, 1, "\x01\x02\x03", 3);
	put(&part, 2, 7);
	put_message(&part, 3, 2, 1, 7, 2, 8);
	put_part(&b, 2, &part);
	put_message(&b, 3, 4, 1, 1, 2, 0, 3, 0x7fffffff, 5, 4);
	put_location(&b, 1, 0, 1, 0);
	put_location(&b, 2, 0, 2, 640);
	put_location(&b, 3, 0, 3, 0);
	put_message(&b, 5, 2, 1, 1, 2, 5);
	put_message(&b, 5, 2, 1, 2, 2, 6);
	put_message(&b, 5, 2, 1, 3, 2, 9);
	put_text(&b, "");
	put_text(&b, "cpu");
	put_text(&b, "count");
	put_text(&b, "Produced by async-profiler");
	put_text(&b, "async-profiler");
	put_text(&b, "do_syscall_64_[k]");
	put_text(&b, "java/util/HashMap.putVal");
	put_text(&b, "thread");
	put_text(&b, "main");
	put_text(&b, "start_thread");
	np = parse(&b);
	check_folded(np, true, "start_thread;java/util/HashMap.putVal:640;do_syscall_64_[k] 7\n");
	assert_int_equal(np->samples[0].weight, 7);
	assert_string_equal(named_string(np, np->samples[0].thread), "main");
	assert_string_equal(np->meta.event, "cpu");
	assert_string_equal(np->meta.unit, "count");
	named_profile_free(np);
}

static void count_follows_from_the_period(void **state)
{
	struct buf b = {0};
	struct named_profile *np;

	(void)state;
	put_message(&b, 1, 2, 1, 1, 2, 2);
	put_message(&b, 2, 1, 2, 2600);
	put_message(&b, 2, 1, 2, 3);
	put(&b, 12, 1000);
	put_text(&b, "");
	put_text(&b, "cpu");
	put_text(&b, "nanoseconds");
	np = parse(&b);
	assert_int_equal(np->n_samples, 1); /* the same stack */
	assert_int_equal(np->samples[0].count, 3 + 1);
	assert_int_equal(np->samples[0].weight, 2603);
	named_profile_free(np);
}

/* inuse_objects, inuse_space behind alloc_objects, alloc_space; the default one is not the last. */
static void the_default_type_counts(void **state)
{
	static const char *const texts[] = {"", "objects", "count", "space", "bytes", "more"};
	struct buf b = {0};
	struct named_profile *np;

	(void)state;
	put_message(&b, 1, 2, 1, 1, 2, 2);
	put_message(&b, 1, 2, 1, 3, 2, 4);
	put_message(&b, 1, 2, 1, 5, 2, 4);
	put_message(&b, 2, 3, 2, 5, 2, 100, 2, 7000);
	put(&b, 14, 3);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(&b, texts[i]);
	np = parse(&b);
	assert_int_equal(np->samples[0].count, 5);
	assert_int_equal(np->samples[0].weight, 100);
	assert_string_equal(np->meta.event, "space");
	assert_int_equal(np->meta.period, 0);
	named_profile_free(np);
}

/* What went through another tool has lost the fields that it does not know. */
static void kinds_by_mapping(void **state)
{
	static const char *const texts[] = {"",         "[jit]",   "[interpreter]", "[stubs]",
					    "[kernel]", "a/B.c",   "a/D.e",         "call_stub",
					    "schedule", "samples", "count",         "/lib/libfoo.so"};
	struct buf b = {0}, part = {0}, line = {0};
	struct named_profile *np;

	(void)state;
	put_message(&b, 1, 2, 1, 9, 2, 10);
	for (int i = 1; i <= 4; i++) {
		put_message(&b, 3, 2, 1, i, 5, i);
		put_message(&b, 5, 2, 1, i, 2, i + 4);
	}
	put_message(&b, 3, 2, 1, 5, 5, 11);
	put_location(&b, 10, 4, 4, 0); /* ids with gaps, out of order */
	put_location(&b, 3, 3, 3, 0);
	put_location(&b, 2, 2, 1, 0);
	put(&part, 1, 7);
	put(&part, 2, 1);
	put(&part, 3, 0xffffffff81000000);
	put_message(&line, 4, 1, 1, 2);
	put_message(&line, 4, 1, 1, 1);
	buf_add(&part, line.data, line.len);
	buf_done(&line);
	put_part(&b, 4, &part);
	put_message(&b, 4, 3, 1, 8, 2, 5, 3, 99); /* no line */
	put_bytes(&part, 1, "\x0a\x07\x02\x03\x08", 5);
	put(&part, 2, 1);
	put_part(&b, 2, &part);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(&b, texts[i]);
	np = parse(&b);
	check_folded(np, false, "[libfoo.so];call_stub;a/B.c_[0];a/B.c;a/D.e_[i];schedule_[k] 1\n");
	for (uint32_t i = 1; i < np->n_locations; i++)
		assert_true(!(np->locations[i].address >> 63));
	named_profile_free(np);
}

/* Stacks and frames that say nothing are samples all the same: in the trees, and in the sums. */
static void unnamed_stacks_are_unknown(void **state)
{
	static const char *const texts[] = {"", "samples", "count", "main"};
	struct buf b = {0}, part = {0};
	struct named_profile *np;

	(void)state;
	put_message(&b, 1, 2, 1, 1, 2, 2);
	put_message(&b, 5, 2, 1, 1, 2, 3);
	put_location(&b, 1, 0, 1, 0);
	put_message(&b, 4, 2, 1, 2, 3, 77); /* an address alone */
	put(&part, 2, 3); /* no stack */
	put_part(&b, 2, &part);
	put_bytes(&part, 1, "\x02\x01", 2);
	put(&part, 2, 4);
	put_part(&b, 2, &part);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(&b, texts[i]);
	np = parse(&b);
	check_folded(np, false, "[unknown] 3\nmain;[unknown] 4\n");
	for (uint32_t i = 1; i < np->n_locations; i++)
		assert_true(np->locations[i].n_lines > 0);
	named_profile_free(np);
}

static void check_bad(struct buf *b, const char *want)
{
	struct named_profile *np = NULL;
	struct err err = {0};

	assert_int_equal(reader_parse_profile(b->data, b->len, "p", &np, NULL, &err), -EINVAL);
	if (!strstr(err.msg, want) || strncmp(err.msg, "'p'", 3))
		fail_msg("'%s' is not in: %s", want, err.msg);
	assert_null(np);
	buf_done(b);
}

static void bad_references(void **state)
{
	static const struct {
		int field, a, b, c, d;
		const char *want;
	} cases[] = {
		{2, 1, 99, 2, 1, "there is no location 99"},
		{3, 1, 0, 5, 1, "(mapping 2): its id is 0"},
		{3, 1, 1, 5, 1, "two mappings have the same id"},
		{3, 1, 2, 5, 77, "(mapping 2): text 77 of 11"},
		{4, 1, 0, 2, 1, "(location 3): its id is 0"},
		{4, 1, 3, 2, 9, "there is no mapping 9"},
		{4, 1, 2, 2, 1, "two locations have the same id"},
		{5, 1, 0, 2, 1, "(function 3): its id is 0"},
		{5, 1, 2, 2, 1, "two functions have the same id"},
		{5, 1, 3, 3, 500, "(function 3): text 500 of 11"},
		{13, 0, 0, 0, 0, "damaged"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = {0};

		put_go(&b);
		if (cases[i].field == 2)
			put_message(&b, 2, 3, 1, cases[i].b, 2, 1, 2, 1);
		else if (cases[i].field == 13)
			put_bytes(&b, 13, "\x80", 1);
		else
			put_message(&b, cases[i].field, 2, cases[i].a, cases[i].b, cases[i].c, cases[i].d);
		check_bad(&b, cases[i].want);
	}
}

static void bad_values(void **state)
{
	struct buf b = {0}, part = {0};

	(void)state;
	put_go(&b);
	put_message(&b, 2, 2, 1, 1, 2, 5);
	check_bad(&b, "(sample 2): 1 values for 2 sample types");
	put_go(&b);
	put(&part, 2, 1);
	put(&part, 2, (uint64_t)-5);
	put_part(&b, 2, &part);
	check_bad(&b, "a negative value");
	put_go(&b);
	put(&part, 2, INT64_MAX);
	put(&part, 2, 1);
	put_part(&b, 2, &part);
	check_bad(&b, "the values add up to more than 2^63");
	put_message(&b, 2, 1, 2, 5);
	put_text(&b, "");
	check_bad(&b, "1 values for 0 sample types");
	put_message(&b, 1, 2, 1, 0, 2, 0);
	put_text(&b, "not empty");
	check_bad(&b, "the first string is not empty");
}

/* Cut anywhere, and with any byte changed, it is read or refused; nothing else. */
static void damage(void **state)
{
	struct buf b = {0};
	struct named_profile *np;

	(void)state;
	put_go(&b);
	for (size_t n = 0; n <= b.len; n++) {
		char *copy = malloc(n + 1);

		memcpy(copy, b.data, n);
		if (!reader_parse_profile(copy, n, "p", &np, NULL, NULL))
			named_profile_free(np);
		free(copy);
	}
	for (size_t i = 0; i < b.len * 8; i++) {
		b.data[i / 8] ^= 1 << i % 8;
		if (!reader_parse_profile(b.data, b.len, "p", &np, NULL, NULL))
			named_profile_free(np);
		b.data[i / 8] ^= 1 << i % 8;
	}
	buf_done(&b);
}

/* A file of those bytes; the caller unlinks it. */
static void write_file(char *path, const void *bytes, size_t len)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void gzip_is_read(void **state)
{
	char path[] = "/tmp/test_input_XXXXXX", cut[] = "/tmp/test_input_XXXXXX";
	uint8_t packed[256];
	z_stream z = {.next_in = (Bytef *)"a;b 5\n", .avail_in = 6, .next_out = packed, .avail_out = sizeof(packed)};
	struct named_profile *np = NULL;
	struct err err;

	(void)state;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	write_file(path, packed, z.total_out);
	write_file(cut, packed, z.total_out - 9);
	deflateEnd(&z);
	assert_int_equal(reader_open_profile(path, &np, NULL, NULL), 0);
	check_folded(np, false, "a;b 5\n");
	named_profile_free(np);
	assert_int_equal(reader_open_profile(cut, &np, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "damaged gzip data after "));
	assert_non_null(strstr(err.msg, "it ends early"));
	unlink(path);
	unlink(cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_is_read),
		cmocka_unit_test(async_profiler_is_read),
		cmocka_unit_test(count_follows_from_the_period),
		cmocka_unit_test(the_default_type_counts),
		cmocka_unit_test(kinds_by_mapping),
		cmocka_unit_test(unnamed_stacks_are_unknown),
		cmocka_unit_test(bad_references),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(damage),
		cmocka_unit_test(gzip_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
