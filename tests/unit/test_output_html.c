#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/page.h"
#include "sampler/output/page_data.h"
#include "sampler/output/page_pack.h"
#include "sampler/output/page_trie.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"

static uint32_t loc(struct named_builder *b, const char *name, enum named_kind kind, int exactness)
{
	struct named_line l = {
		.function = named_builder_function(b, name, "", ""), .kind = kind, .exactness = exactness};

	return named_builder_location(b, 0, 0, &l, 1);
}

static void add(struct named_builder *b, uint64_t count, uint64_t weight, int32_t tid, uint32_t n, ...)
{
	uint32_t at[16];
	struct named_sample s = {.count = count, .weight = weight, .pid = 1, .tid = tid};
	va_list ap;

	va_start(ap, n);
	for (uint32_t i = 0; i < n; i++)
		at[n - 1 - i] = va_arg(ap, uint32_t); /* given root first */
	va_end(ap);
	s.thread = named_builder_string(b, tid ? "worker" : "");
	s.stack = named_builder_stack(b, at, n);
	assert_int_not_equal(named_builder_sample(b, &s), UINT32_MAX);
}

static char *data_of(struct named_builder *b)
{
	struct named_profile *np = named_builder_take(b);
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	assert_int_equal(page_data_write(np, f), 0);
	fclose(f);
	named_profile_free(np);
	return got;
}

/* What page/data/profile.js does, in C: numbers, names, folded lines. */
struct reader {
	json_t *json;
	uint8_t *bytes;
	size_t len, at;
	char names[64][128];
};

static size_t decode_base64(const char *s, uint8_t *dst)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0, n = 0;
	size_t len = 0;

	for (; *s && *s != '='; s++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *s) - digits);
		n += 6;
		if (n >= 8)
			dst[len++] = (uint8_t)(bits >> (n -= 8));
	}
	return len;
}

static uint64_t number(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(r->at < r->len && shift < 64);
		v |= (uint64_t)(r->bytes[r->at] & 0x7f) << shift;
		if (!(r->bytes[r->at++] & 0x80))
			return v;
	}
}

static void read_names(struct reader *r)
{
	json_t *names = json_object_get(r->json, "names");

	for (size_t i = 0; i + 1 < json_array_size(names); i += 2) {
		int shared = (int)json_integer_value(json_array_get(names, i));

		assert_true(i / 2 < 64);
		snprintf(r->names[i / 2], sizeof(r->names[0]), "%.*s%s", shared, i ? r->names[i / 2 - 1] : "",
			 json_string_value(json_array_get(names, i + 1)));
	}
}

static struct reader reader_of(const char *data)
{
	struct reader r = {0};
	json_error_t e;
	const char *stacks;

	r.json = json_loads(data, 0, &e);
	if (!r.json)
		fail_msg("%s in %s", e.text, data);
	stacks = json_string_value(json_object_get(r.json, "stacks"));
	assert_non_null(r.bytes = malloc(strlen(stacks) + 1));
	r.len = decode_base64(stacks, r.bytes);
	read_names(&r);
	return r;
}

static void reader_done(struct reader *r)
{
	json_decref(r->json);
	free(r->bytes);
}

/* "a:kind.exactness;b... count label weight\n" a row. */
static void put_rows(struct reader *r, char *dst, size_t size)
{
	bool labels = json_array_size(json_object_get(r->json, "labels")) > 1;
	bool weighted = json_integer_value(json_object_get(r->json, "weighted")) != 0;
	json_t *variants = json_object_get(r->json, "variants");
	uint64_t path[32];
	size_t len = 0;

	dst[0] = '\0';
	while (r->at < r->len) {
		uint64_t shared = number(r), n = shared + number(r), count, label;

		assert_true(n <= 32);
		for (uint64_t i = shared; i < n; i++)
			path[i] = number(r);
		count = number(r);
		label = labels ? number(r) : 0;
		for (uint64_t i = 0; i < n; i++) {
			json_int_t v = json_integer_value(json_array_get(variants, path[i]));

			len += (size_t)snprintf(dst + len, size - len, "%s%s:%d.%d", i ? ";" : "", r->names[v >> 6],
						(int)(v >> 2 & 15), (int)(v & 3));
		}
		len += (size_t)snprintf(dst + len, size - len, " %d %d %d\n", (int)count, (int)label,
					weighted ? (int)number(r) : 0);
		assert_true(len < size);
	}
}

static void assert_rows(struct named_builder *b, const char *wanted, int rows)
{
	char *data = data_of(b), got[4096];
	struct reader r = reader_of(data);

	put_rows(&r, got, sizeof(got));
	assert_string_equal(got, wanted);
	assert_int_equal(json_integer_value(json_object_get(r.json, "rows")), rows);
	reader_done(&r);
	free(data);
}

static void stacks_come_back(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t a = loc(b, "p/A.a", NAMED_INTERPRETED, 0), c2 = loc(b, "p/A.b", NAMED_C2, 1),
		 c1 = loc(b, "p/A.b", NAMED_C1, 3), native = loc(b, "n", NAMED_NATIVE, 2),
		 bare = named_builder_location(b, 0, 4096, NULL, 0);
	(void)state;

	add(b, 300, 3000, 0, 3, a, c2, native);
	add(b, 2, 20, 0, 2, a, c2);
	add(b, 4, 40, 0, 2, a, c1);
	add(b, 5, 50, 0, 1, bare);
	add(b, 6, 60, 0, 0);
	add(b, 0, 0, 0, 1, native);
	/* What a stack without frames and a location without a line are: the same [unknown]. */
	assert_rows(b,
		    "[unknown]:0.0 11 0 0\n"
		    "p/A.a:3.0;p/A.b:4.3 4 0 0\n"
		    "p/A.a:3.0;p/A.b:5.1 2 0 0\n"
		    "p/A.a:3.0;p/A.b:5.1;n:2.0 300 0 0\n",
		    4);
}

static void labels_and_weights(void **state)
{
	struct named_builder *b = named_builder_new();
	uint32_t a = loc(b, "a", NAMED_C2, 0);
	(void)state;

	add(b, 1, 10, 7, 1, a);
	add(b, 2, 21, 8, 1, a);
	assert_rows(b, "a:5.0 2 1 21\na:5.0 1 0 10\n", 2);
}

static void inlined_frames_are_frames(void **state)
{
	struct named_builder *b = named_builder_new();
	struct named_line l[] = {{.function = named_builder_function(b, "in", "", ""), .kind = NAMED_INLINED},
				 {.function = named_builder_function(b, "out", "", ""), .kind = NAMED_C2}};
	(void)state;

	add(b, 1, 1, 0, 1, named_builder_location(b, 0, 0, l, 2));
	assert_rows(b, "out:5.0;in:6.0 1 0 0\n", 1);
}

static void hostile_names(void **state)
{
	static const char *const names[] = {"</script><script>alert(1)</script>",
					    "<!--<script>",
					    "\"quoted\\\"",
					    "\033[31mred\033[0m",
					    "user\u202enimda",
					    "line\u2028end",
					    "bad\xfe\xff",
					    "a&b;c",
					    "]]>",
					    "\x01\x1f\x7f"};
	struct named_builder *b = named_builder_new();
	char *data;
	struct reader r;
	(void)state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add(b, 1, 1, 0, 1, loc(b, names[i], NAMED_C2, 0));
	named_builder_meta(b)->command = named_builder_keep(b, "java </script> \"x\"");
	data = data_of(b);
	for (const char *c = data; *c; c++)
		assert_true(((unsigned char)*c >= 0x20 || *c == '\n') && *c != '<' && *c != '>');
	assert_null(strstr(data, "\u202e"));
	assert_null(strstr(data, "\u2028"));
	r = reader_of(data);
	assert_string_equal(json_string_value(json_object_get(json_object_get(r.json, "meta"), "command")),
			    "java </script> \"x\"");
	reader_done(&r);
	free(data);
}

/* Longer than the buffer that texts are cleaned in, and a character on its edge. */
static void long_texts(void **state)
{
	enum { LEN = 65536 };
	char *s = malloc(LEN + 1), *got = NULL;
	size_t len;
	(void)state;

	for (size_t shift = 0; shift < 4; shift++) {
		FILE *f = open_memstream(&got, &len);

		memset(s, 'x', shift);
		for (size_t i = shift; i + 3 <= LEN; i += 3)
			memcpy(s + i, "\u20ac", 3);
		s[shift + (LEN - shift) / 3 * 3] = '\0';
		json_text(&(struct json){.out = f}, s);
		fclose(f);
		assert_int_equal(len, strlen(s) + 2);
		assert_memory_equal(got + 1, s, strlen(s));
		free(got);
	}
	free(s);
}

static void packed_numbers(void **state)
{
	static const uint64_t v[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
	(void)state;

	for (size_t n = 0; n <= sizeof(v) / sizeof(v[0]); n++) {
		char *got = NULL;
		size_t len;
		FILE *f = open_memstream(&got, &len);
		struct page_packer p = {.out = f};
		struct reader r = {0};
		uint8_t bytes[64];

		for (size_t i = 0; i < n; i++)
			page_packer_add(&p, v[i]);
		page_packer_end(&p);
		fclose(f);
		assert_int_equal(len % 4, 0);
		r.bytes = bytes;
		r.len = decode_base64(got, bytes);
		for (size_t i = 0; i < n; i++)
			assert_true(number(&r) == v[i]);
		assert_int_equal(r.at, r.len);
		free(got);
	}
}

struct walked {
	uint64_t frames, rows, count;
};

static void count_row(void *ctx, const struct page_row *row)
{
	struct walked *w = ctx;

	w->frames += row->n;
	w->rows++;
	w->count += row->count;
}

/* More than the table of children holds at first, and deeper than any recursion would go. */
static void a_large_trie(void **state)
{
	struct page_trie *t = page_trie_new();
	struct walked w = {0};
	uint32_t node = 0;
	(void)state;

	for (uint32_t i = 0; i < 200000; i++)
		node = page_trie_child(t, node, i & 3);
	assert_true(page_trie_add(t, node, 0, 1, 1));
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(page_trie_add(t, page_trie_child(t, 0, i + 10), i & 1, 1, 1));
	assert_int_equal(page_trie_child(t, 0, 10), page_trie_child(t, 0, 10));
	assert_true(page_trie_add(t, page_trie_child(t, 0, 10), 0, 5, 5));
	assert_int_equal(page_trie_walk(t, count_row, &w), 0);
	assert_int_equal(w.frames, 300000);
	assert_int_equal(w.rows, 100001);
	assert_int_equal(w.count, 100006);
	assert_int_equal(page_trie_rows(t), 100001);
	page_trie_free(t);
	page_trie_free(NULL);
}

static struct named_profile *small_profile(void)
{
	struct named_builder *b = named_builder_new();

	add(b, 1, 1, 0, 1, loc(b, "a", NAMED_C2, 0));
	return named_builder_take(b);
}

static void a_page(void **state)
{
	struct named_profile *np = small_profile();
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);
	(void)state;

	assert_int_equal(writer_html.write(np, &(struct writer_options){.annotate = true}, f, NULL), 0);
	fclose(f);
	assert_int_equal(strncmp(got, "<!DOCTYPE html>", 15), 0);
	assert_non_null(strstr(got, "default-src 'none'; script-src 'sha256-"));
	assert_null(strstr(got, "@SCRIPT"));
	assert_null(strstr(got, "unsafe-inline"));
	assert_ptr_equal(writer_for_path("x.html"), &writer_html);
	assert_ptr_equal(writer_for_path("x.txt"), &writer_text);
	assert_true(page_head_len + page_tail_len <= 60 * 1024);
	assert_true(page_slices_head_len + page_slices_tail_len <= 80 * 1024);
	assert_true(page_diff_head_len + page_diff_tail_len <= 80 * 1024);
	free(got);
	named_profile_free(np);
}

/* Slices are for the page that draws them, and only where there are some. */
static void slices(void **state)
{
	struct named_builder *b = named_builder_new();
	struct named_sample s = {.count = 3, .weight = 3};
	uint32_t at = loc(b, "a", NAMED_C2, 0);
	struct reader r = {0};
	json_t *j;
	char *got;
	(void)state;

	s.stack = named_builder_stack(b, &at, 1);
	for (s.slice = 0; s.slice <= 300; s.slice += 150)
		named_builder_sample(b, &s);
	named_builder_meta(b)->slice_ns = 1000;
	got = data_of(b);
	r.json = json_loads(got, 0, NULL);
	assert_non_null(r.json);
	assert_int_equal(json_integer_value(json_object_get(r.json, "rows")), 1);
	j = json_object_get(r.json, "slices");
	assert_int_equal(json_integer_value(json_object_get(j, "ns")), 1000);
	assert_int_equal(json_integer_value(json_object_get(j, "n")), 300);
	/* 3 entries: 300 has 3 samples, 150 has 3, none has 3. */
	assert_string_equal(json_string_value(json_object_get(j, "counts")), "A6wCA5YBAwAD");
	json_decref(r.json);
	free(got);
	b = named_builder_new();
	add(b, 1, 1, 0, 1, loc(b, "a", NAMED_C2, 0));
	got = data_of(b);
	assert_null(strstr(got, "\"slices\""));
	free(got);
}

static void a_full_disk_is_told(void **state)
{
	struct named_profile *np = small_profile();
	FILE *full = fopen("/dev/full", "w");
	struct err err = {0};
	(void)state;

	assert_non_null(full);
	assert_int_equal(writer_html.write(np, &(struct writer_options){0}, full, &err), -28);
	assert_non_null(strstr(err.msg, "No space"));
	fclose(full);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_come_back),
		cmocka_unit_test(labels_and_weights),
		cmocka_unit_test(inlined_frames_are_frames),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(packed_numbers),
		cmocka_unit_test(a_large_trie),
		cmocka_unit_test(a_page),
		cmocka_unit_test(slices),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
