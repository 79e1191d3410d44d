#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

/*
 * Compares what a writer makes of a profile with tests/golden/NAME. JS_GOLDEN=write in the
 * environment writes the file instead (then look at the difference before committing it).
 */
static void check_golden(const struct named_profile *np, const struct writer *w, struct writer_options o,
			 const char *name)
{
	char path[512], *got = NULL, *want = NULL;
	size_t len = 0, want_len = 0;
	FILE *f = open_memstream(&got, &len), *g;

	assert_int_equal(w->write(np, &o, f, NULL), 0);
	fclose(f);
	snprintf(path, sizeof(path), "%s/%s", GOLDEN, name);
	if (getenv("JS_GOLDEN")) {
		assert_non_null(g = fopen(path, "w"));
		fwrite(got, 1, len, g);
		fclose(g);
	}
	assert_int_equal(file_read_at(-1, path, 1 << 20, &want, &want_len), 0);
	assert_string_equal(got, want);
	assert_int_equal(len, want_len);
	free(got);
	free(want);
}

/* A location of one line, or with inlined ones in front of it. */
static uint32_t loc(struct named_builder *b, const char *name, int line, enum named_kind kind)
{
	struct named_line l = {.function = named_builder_function(b, name, "", ""), .line = line, .kind = kind};

	return named_builder_location(b, 0, 0, &l, 1);
}

static uint32_t inlined(struct named_builder *b, const char *inner, const char *outer)
{
	struct named_line l[] = {
		{.function = named_builder_function(b, inner, "", ""), .line = 5, .kind = NAMED_INLINED},
		{.function = named_builder_function(b, outer, "", ""), .line = 6, .kind = NAMED_C2}};

	return named_builder_location(b, 0, 0, l, 2);
}

static void add(struct named_builder *b, uint64_t count, int32_t tid, uint32_t n, ...)
{
	uint32_t at[16];
	struct named_sample s = {.count = count, .weight = count * 10, .tid = tid};
	va_list ap;

	va_start(ap, n);
	for (uint32_t i = 0; i < n; i++)
		at[n - 1 - i] = va_arg(ap, uint32_t); /* given root first */
	va_end(ap);
	s.stack = named_builder_stack(b, at, n);
	assert_int_not_equal(named_builder_sample(b, &s), UINT32_MAX);
}

/* Every kind of frame, equal texts by different ways, prefixes of each other, out of order. */
static struct named_profile *make_mixed(void)
{
	struct named_builder *b = named_builder_new();
	uint32_t start = loc(b, "start_thread", 0, NAMED_NATIVE),
		 run = loc(b, "java/lang/Thread.run", 840, NAMED_INTERPRETED),
		 run2 = loc(b, "java/lang/Thread.run", 841, NAMED_INTERPRETED),
		 put = loc(b, "java/util/HashMap.put", 607, NAMED_C2), c1 = loc(b, "T.warm", 12, NAMED_C1),
		 hash = inlined(b, "java/util/HashMap.hash", "java/util/HashMap.put"),
		 hash1 = loc(b, "java/util/HashMap.hash", 5, NAMED_INLINED),
		 put6 = loc(b, "java/util/HashMap.put", 6, NAMED_C2),
		 native = loc(b, "java/util/zip/CRC32.updateBytes0", 0, NAMED_JAVA_NATIVE),
		 stub = loc(b, "jbyte_disjoint_arraycopy", 0, NAMED_STUB),
		 sys = loc(b, "do_syscall_64", 0, NAMED_KERNEL), kernel = loc(b, "[kernel]", 0, NAMED_KERNEL),
		 incomplete = loc(b, "[incomplete]", 0, NAMED_MARK), thread = loc(b, "[main; tid=7]", 0, NAMED_THREAD),
		 process = loc(b, "[java pid=4711]", 0, NAMED_PROCESS),
		 bare = named_builder_location(b, 0, 4096, NULL, 0);

	add(b, 3, 1, 4, start, run, put, hash1);
	add(b, 4, 2, 4, start, run, put6, hash1);
	add(b, 8, 3, 3, start, run, hash);
	add(b, 1, 1, 2, start, run);
	add(b, 1, 1, 2, start, run2);
	add(b, 1, 9, 2, start, run2);
	add(b, 2, 1, 1, start);
	add(b, 1, 1, 5, start, run, c1, stub, sys);
	add(b, 1, 1, 4, start, run, native, kernel);
	add(b, 5, 1, 2, incomplete, put);
	add(b, 6, 1, 4, process, thread, start, run);
	add(b, 7, 1, 1, bare);
	add(b, 7, 1, 0);
	add(b, 0, 1, 1, incomplete);
	return named_builder_take(b);
}

static struct named_profile *make_hostile(void)
{
	struct named_builder *b = named_builder_new();
	uint32_t semicolon = loc(b, "a;b 3", 0, NAMED_C2), colon = loc(b, "a:b 3", 0, NAMED_C2),
		 newline = loc(b, "x\nfake;stack 1000\n", 0, NAMED_NATIVE),
		 escape = loc(b, "\033]0;title\007", 0, NAMED_NATIVE),
		 bidi = loc(b, "user\u202e[j]_nimda", 0, NAMED_C1),
		 script = loc(b, "</script><script>alert(1)</script>", 0, NAMED_INTERPRETED),
		 empty = loc(b, "", 0, NAMED_C2), bad = loc(b, "bad\xfe\xff", 0, NAMED_KERNEL);

	add(b, 1, 1, 2, semicolon, newline);
	add(b, 1, 1, 2, colon, newline);
	add(b, 1, 1, 2, escape, bidi);
	add(b, 1, 1, 3, script, empty, bad);
	return named_builder_take(b);
}

static void folded_text(void **state)
{
	struct named_profile *np = make_mixed();
	(void)state;

	check_golden(np, &writer_folded, (struct writer_options){.annotate = true}, "mixed.folded");
	check_golden(np, &writer_folded, (struct writer_options){.annotate = true, .lines = true},
		     "mixed_lines.folded");
	check_golden(np, &writer_folded, (struct writer_options){0}, "mixed_plain.folded");
	check_golden(np, &writer_digest, (struct writer_options){.annotate = true}, "mixed.digest");
	named_profile_free(np);
}

static void hostile_text(void **state)
{
	struct named_profile *np = make_hostile();
	(void)state;

	check_golden(np, &writer_folded, (struct writer_options){.annotate = true}, "hostile.folded");
	named_profile_free(np);
}

/* A name of 64 KiB, longer than the writer's buffer. */
static void long_text(void **state)
{
	enum { LEN = 65536 };
	struct named_builder *b = named_builder_new();
	char *name = malloc(LEN + 1), *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);
	struct named_profile *np;
	(void)state;

	memset(name, 'n', LEN);
	name[LEN] = '\0';
	add(b, 2, 1, 3, loc(b, "r", 0, NAMED_C2), loc(b, name, 0, NAMED_C2), loc(b, "l", 0, NAMED_C2));
	np = named_builder_take(b);
	assert_int_equal(writer_folded.write(np, &(struct writer_options){.annotate = true}, f, NULL), 0);
	fclose(f);
	assert_int_equal(len, strlen("r_[j];") + LEN + strlen("_[j];l_[j] 2\n"));
	assert_memory_equal(got, "r_[j];n", 7);
	assert_string_equal(got + len - 14, "n_[j];l_[j] 2\n");
	named_profile_free(np);
	free(got);
	free(name);
}

static void nothing_to_write(void **state)
{
	struct named_profile *np = named_builder_take(named_builder_new());
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);
	(void)state;

	assert_int_equal(writer_folded.write(np, &(struct writer_options){0}, f, NULL), 0);
	assert_int_equal(writer_null.write(np, &(struct writer_options){0}, f, NULL), 0);
	fclose(f);
	assert_int_equal(len, 0);
	named_profile_free(np);
	free(got);
}

static void a_full_disk_is_told(void **state)
{
	struct named_profile *np = make_mixed();
	FILE *full = fopen("/dev/full", "w");
	struct err err = {0};
	(void)state;

	if (!full)
		skip();
	assert_int_equal(writer_folded.write(np, &(struct writer_options){0}, full, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "No space left"));
	fclose(full);
	named_profile_free(np);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_text),      cmocka_unit_test(hostile_text),        cmocka_unit_test(long_text),
		cmocka_unit_test(nothing_to_write), cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
