#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "sampler/recording/format.h"
#include "sampler/recording/recording.h"
#include "sampler/recording/recording_writer.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/encode.h"
#include "symbolizer/base/err.h"
#include "symbolizer/native/cfi/cfi_row.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_record.h"

static const char maps[] = "1000-2000 r-xp 00000000 08:01 42 /lib/x.so\n";
static const uint8_t stack[64] = {1, 2, 3, 4, 5, 6, 7, 8}, frozen[] = {9, 8, 7};

static struct raw_sample sample_make(pid_t tid)
{
	static const uint64_t kernel[] = {0xffffffff81000001, 0xffffffff81000002};
	struct raw_sample s = {
		.pid = 10,
		.tid = tid,
		.time_ns = 1234567890123,
		.weight = 10101010,
		.state = THREAD_PARKED,
		.has_user = true,
		.stack_addr = 0x7ffc0000,
		.stack = stack,
		.stack_len = sizeof(stack),
		.stack_cut = true,
		.frozen = frozen,
		.frozen_len = sizeof(frozen),
		.kernel = kernel,
		.n_kernel = 2,
	};

	regs_set(&s.regs, 0, 77);
	regs_set(&s.regs, REGS_MAX - 1, UINT64_MAX);
	return s;
}

/* A DSO with one fact of each sort, told to the writer as naming would. */
static struct dso *dso_make(void)
{
	static const uint8_t id[] = {0xab, 0xcd};
	static const struct dso_segment segment = {0x1000, 0x2000, 0x300, 0x400, 5};
	static const struct dso_symbol symbol = {"_Z3foov", 0x2010, 0x20};
	/* clang-format off */
	static const struct dso_record record = {
		.build_id = id, .build_id_len = sizeof(id), .segments = &segment, .n_segments = 1,
		.symbols = &symbol, .n_symbols = 1, .has_symtab = true,
	};
	/* clang-format on */
	struct dso *d;

	assert_int_equal(dso_open_record(&record, "/lib/x.so", &d), 0);
	return d;
}

static void note_dso(struct recording_writer *w, struct dso *d)
{
	const struct dso_tap *tap = recording_tap(w);
	static struct cfi_exprs exprs = {.n = 1, .start = {0}, .len = {2}, .n_ops = 2};
	struct cfi_row row = {.signal_frame = true, .cfa_is_expr = true, .cfa_reg = 7, .cfa_off = -16};
	const struct dso_symbol symbol = {"_Z3foov", 0x2010, 0x20};
	const struct dso_line lines[] = {{"inner", "a.c", 3}, {NULL, "b.c", 4}};

	exprs.op[0] = (struct cfi_op){.op = 9, .value = -5};
	exprs.op[1] = (struct cfi_op){.op = 10, .value = INT64_MAX};
	row.exprs = &exprs;
	row.rule[3].kind = 1;
	row.rule[3].value = -24;
	for (int twice = 0; twice < 2; twice++) {
		tap->row(tap->ctx, d, 0x2012, &row);
		tap->symbol(tap->ctx, d, 0x2012, &symbol);
		tap->name(tap->ctx, d, "gTable", 0x9000, 8);
		tap->lines(tap->ctx, d, 0x2012, lines, 2);
	}
}

static const struct recording_facts facts = {10, 10101010, "cpu", "java", "java -jar x.jar"};

/* Writes the collected, reads the file and decompresses it. */
static void finish(struct recording_writer *w, struct buf *ret_raw)
{
	FILE *f = tmpfile();
	char z[65536];
	struct err err = {0};
	size_t n;
	unsigned long long len;

	assert_int_equal(recording_writer_finish(w, &facts, maps, strlen(maps), f, &err), 0);
	rewind(f);
	n = fread(z, 1, sizeof(z), f);
	fclose(f);
	len = ZSTD_getFrameContentSize(z, n);
	assert_true(len > 0 && len < 1 << 20);
	*ret_raw = (struct buf){.data = malloc(len + 1), .cap = len + 1};
	ret_raw->len = ZSTD_decompress(ret_raw->data, len, z, n);
	assert_false(ZSTD_isError(ret_raw->len));
}

static void whole_make(struct buf *ret_raw)
{
	struct recording_writer *w = recording_writer_new();
	struct dso *d = dso_make();
	struct raw_sample s = sample_make(11);

	recording_note(w, 0x5000, "abcd", 4);
	recording_note(w, 0x5ffe, "page", 4); /* across two */
	recording_note(w, 0x5004, "ef", 2); /* touches the first */
	recording_note(w, 0x5000, "ab", 2); /* known */
	recording_writer_sample(w, &s, 1);
	recording_note(w, 0x5000, "aXcd", 4);
	s = sample_make(12);
	s.has_user = s.stack_cut = false;
	s.stack_len = 0;
	s.n_kernel = 0;
	recording_writer_sample(w, &s, 2);
	recording_note(w, 0x10, "end", 3);
	note_dso(w, d);
	recording_writer_thread(w, 11, 1, "main");
	recording_writer_thread(w, 12, 2, "");
	finish(w, ret_raw);
	recording_writer_free(w);
	dso_close(d);
}

struct span_list {
	char text[256];
};

static int span_print(void *ctx, const struct recording_span *span)
{
	struct span_list *l = ctx;
	size_t n = strlen(l->text);

	snprintf(l->text + n, sizeof(l->text) - n, "%llx:%.*s ", (unsigned long long)span->addr, (int)span->len,
		 (const char *)span->bytes);
	return 0;
}

static void assert_spans(const struct recording *r, size_t i, const char *want)
{
	struct span_list l = {""};

	assert_int_equal(recording_each_span(r, i, span_print, &l), 0);
	assert_string_equal(l.text, want);
}

static void check_first_sample(const struct raw_sample *s)
{
	assert_int_equal(s->pid, 10);
	assert_int_equal(s->tid, 11);
	assert_int_equal(s->time_ns, 1234567890123);
	assert_int_equal(s->weight, 10101010);
	assert_int_equal(s->state, THREAD_PARKED);
	assert_true(s->has_user && s->stack_cut);
	assert_true(regs_known(&s->regs, 0) && regs_known(&s->regs, REGS_MAX - 1));
	assert_false(regs_known(&s->regs, 1));
	assert_int_equal(s->regs.r[0], 77);
	assert_int_equal(s->regs.r[REGS_MAX - 1], UINT64_MAX);
	assert_int_equal(s->stack_addr, 0x7ffc0000);
	assert_int_equal(s->stack_len, sizeof(stack));
	assert_memory_equal(s->stack, stack, sizeof(stack));
	assert_int_equal(s->frozen_len, sizeof(frozen));
	assert_memory_equal(s->frozen, frozen, sizeof(frozen));
	assert_int_equal(s->n_kernel, 2);
	/* The kernel's addresses are not in the file. */
	assert_int_equal(s->kernel[0], s->kernel[1]);
}

static void check_dso(const struct recording_dso *d)
{
	const struct dso_record *r = &d->record;

	assert_string_equal(d->path, "/lib/x.so");
	assert_true(r->has_symtab);
	assert_int_equal(r->build_id_len, 2);
	assert_memory_equal(r->build_id, "\xab\xcd", 2);
	assert_int_equal(r->n_segments, 1);
	assert_int_equal(r->segments[0].vaddr, 0x2000);
	assert_int_equal(r->segments[0].memsz, 0x400);
	assert_int_equal(r->n_rows, 1);
	assert_int_equal(r->rows[0].vaddr, 0x2012);
	assert_true(r->rows[0].row->signal_frame && r->rows[0].row->cfa_is_expr);
	assert_int_equal(r->rows[0].row->cfa_off, -16);
	assert_int_equal(r->rows[0].row->rule[3].value, -24);
	assert_int_equal(r->rows[0].row->exprs->op[0].value, -5);
	assert_int_equal(r->rows[0].row->exprs->op[1].value, INT64_MAX);
	assert_int_equal(r->n_symbols, 1);
	assert_string_equal(r->symbols[0].name, "_Z3foov");
	assert_int_equal(r->n_names, 1);
	assert_string_equal(r->names[0].name, "gTable");
	assert_int_equal(r->names[0].vaddr, 0x9000);
	assert_int_equal(r->n_lines, 2);
	assert_string_equal(r->lines[0].line.function, "inner");
	assert_null(r->lines[1].line.function);
	assert_string_equal(r->lines[1].line.file, "b.c");
	assert_int_equal(r->lines[1].line.line, 4);
}

static void everything_comes_back(void **state)
{
	struct buf raw;
	struct recording *r;
	struct err err = {0};
	const char *m;
	size_t len;

	(void)state;
	whole_make(&raw);
	assert_int_equal(recording_parse(raw.data, raw.len, &r, &err), 0);
	assert_memory_equal(recording_facts(r), &facts, sizeof(facts));
	m = recording_maps(r, &len);
	assert_int_equal(len, strlen(maps));
	assert_memory_equal(m, maps, len);
	assert_int_equal(recording_thread_count(r), 2);
	assert_int_equal(recording_thread(r, 0)->ns_tid, 1);
	assert_string_equal(recording_thread(r, 0)->name, "main");
	assert_int_equal(recording_sample_count(r), 2);
	check_first_sample(recording_sample(r, 0));
	assert_false(recording_sample(r, 1)->has_user);
	assert_int_equal(recording_sample(r, 1)->n_kernel, 0);
	assert_spans(r, 0, "5000:abcdef 5ffe:page ");
	assert_spans(r, 1, "5001:X ");
	assert_spans(r, 2, "10:end ");
	assert_spans(r, 3, "10:end ");
	assert_int_equal(recording_dso_count(r), 1);
	check_dso(recording_dso(r, 0));
	recording_keep_samples(r, (const bool[]){false, true});
	assert_null(recording_sample(r, 0));
	assert_non_null(recording_sample(r, 1));
	recording_close(r);
	buf_done(&raw);
}

/* Ends of sections are where a shorter file is a file: it has what stands in front of them. */
static bool at_section_end(const struct buf *raw, size_t len)
{
	size_t at = RECORDING_MAGIC_LEN;
	uint32_t n;

	while (at < len) {
		memcpy(&n, raw->data + at + 4, sizeof(n));
		at += 8 + n;
	}
	return at == len;
}

static void cut_anywhere_is_an_error(void **state)
{
	struct buf raw;
	struct recording *r;
	unsigned ends = 0;

	(void)state;
	whole_make(&raw);
	for (size_t len = 0; len < raw.len; len++) {
		char *exact = malloc(len + 1);
		int e;

		/* Of its exact length, so that a read behind it is seen. */
		exact = realloc(exact, len ? len : 1);
		memcpy(exact, raw.data, len);
		e = recording_parse(exact, len, &r, NULL);
		if (len >= RECORDING_MAGIC_LEN && at_section_end(&raw, len)) {
			ends++;
			assert_int_equal(e, 0);
			recording_close(r);
		} else {
			assert_int_equal(e, -EBADMSG);
		}
		free(exact);
	}
	assert_int_equal(ends, 10);
	buf_done(&raw);
}

/* Every byte replaced: whatever it gives, it is bounded and is released. */
static void any_byte_may_be_wrong(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct buf raw;
	struct recording *r;
	unsigned good = 0, bad = 0;

	(void)state;
	whole_make(&raw);
	for (size_t i = 0; i < raw.len; i++) {
		uint8_t was = (uint8_t)raw.data[i];

		for (size_t k = 0; k < sizeof(values); k++) {
			struct span_list l = {""};

			raw.data[i] = (char)values[k];
			if (recording_parse(raw.data, raw.len, &r, NULL) < 0) {
				bad++;
				continue;
			}
			good++;
			for (size_t s = 0; s <= recording_sample_count(r); s++)
				recording_each_span(r, s, span_print, &l);
			recording_close(r);
		}
		raw.data[i] = (char)was;
	}
	assert_true(good > 100 && bad > 100);
	buf_done(&raw);
}

static void section(struct buf *b, uint32_t tag, const void *bytes, size_t len)
{
	size_t start = put_section(b, tag);

	buf_add(b, bytes, len);
	put_section_end(b, start);
}

static int parse_one(uint32_t tag, const void *bytes, size_t len)
{
	struct buf b = {0};
	struct recording *r = NULL;
	int e;

	buf_add(&b, RECORDING_MAGIC, RECORDING_MAGIC_LEN);
	section(&b, tag, bytes, len);
	e = recording_parse(b.data, b.len, &r, NULL);
	if (e == 0)
		recording_close(r);
	buf_done(&b);
	return e;
}

#define BYTES(s) s, sizeof(s) - 1

static void absurd_sections_are_refused(void **state)
{
	static const char count[] = "\1\0\0\0x\0\0\0\0\0\xff\xff\xff\xff";

	(void)state;
	assert_int_equal(parse_one(TAG_MAPS, BYTES("")), 0);
	assert_int_equal(parse_one(0, BYTES("")), -EBADMSG);
	assert_int_equal(parse_one(99, BYTES("abc")), -EBADMSG);
	assert_int_equal(parse_one(TAG_THREAD, BYTES("\1\0\0\0\1\0\0\0\xff\xff\xff\xffx")), -EBADMSG);
	/* A DSO "x" without symtab and build-id, with four billion segments. */
	assert_int_equal(parse_one(TAG_DSO, BYTES(count)), -EBADMSG);
	/* Spans: none; one; empty; beyond the bytes; beyond the address space; a number without end;
	 * bytes that belong to none. */
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\0")), 0);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\1\5\1x")), 0);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\1\5\0")), -EBADMSG);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\1\5\2x")), -EBADMSG);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\5\1x")), -EBADMSG);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\2\5\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1xy")), -EBADMSG);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\1x")), -EBADMSG);
	assert_int_equal(parse_one(TAG_MEMORY, BYTES("\1\5\1xy")), -EBADMSG);
	assert_int_equal(parse_one(TAG_SAMPLE, BYTES("")), -EBADMSG);
}

static void memory_stands_once_before_a_sample(void **state)
{
	struct buf b = {0};
	struct recording *r;

	(void)state;
	buf_add(&b, RECORDING_MAGIC, RECORDING_MAGIC_LEN);
	section(&b, TAG_MEMORY, BYTES("\1\5\1x"));
	section(&b, TAG_MEMORY, BYTES("\1\5\1y"));
	assert_int_equal(recording_parse(b.data, b.len, &r, NULL), -EBADMSG);
	buf_done(&b);
}

/* A few bytes stand for a kilobyte: a row with an empty expression, and a number of kernel frames. */
static void what_is_parsed_is_bounded(void **state)
{
	enum { ROWS = 220000, ROW = 103, FLAGS_TO_EXPRS = 99, STACK_LEN_AT = 42 };
	static const uint8_t one_empty_expr[] = {1, 0, 0, 0};
	static const uint8_t frames[] = {0, 4, 0, 0}; /* 1,024 */
	uint8_t row[ROW] = {0}, sample[STACK_LEN_AT + 8] = {0};
	struct buf b = {0}, rows = {0};
	struct recording *r;

	(void)state;
	memcpy(row + FLAGS_TO_EXPRS, one_empty_expr, sizeof(one_empty_expr));
	buf_add(&rows, BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0"));
	put_u32(&rows, ROWS);
	for (int i = 0; i < ROWS; i++)
		buf_add(&rows, row, sizeof(row));
	buf_add(&rows, BYTES("\0\0\0\0\0\0\0\0\0\0\0\0"));
	assert_int_equal(parse_one(TAG_DSO, rows.data, rows.len), -EBADMSG);
	buf_done(&rows);
	memcpy(sample + STACK_LEN_AT + 4, frames, sizeof(frames));
	buf_add(&b, RECORDING_MAGIC, RECORDING_MAGIC_LEN);
	section(&b, TAG_SAMPLE, sample, sizeof(sample));
	section(&b, TAG_SAMPLE, sample, sizeof(sample));
	assert_int_equal(recording_parse(b.data, b.len, &r, NULL), 0);
	assert_int_equal(recording_sample(r, 1)->n_kernel, 1024);
	assert_ptr_equal(recording_sample(r, 0)->kernel, recording_sample(r, 1)->kernel);
	recording_close(r);
	buf_done(&b);
}

static int open_bytes(const void *bytes, size_t len, struct err *err)
{
	char path[] = "/tmp/jsampler-test-XXXXXX";
	int fd = mkstemp(path), e;
	struct recording *r = NULL;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	e = recording_open(path, &r, err);
	unlink(path);
	recording_close(r);
	return e;
}

/* What claims to be, or becomes, more than a recording may be. */
static void bombs_are_refused(void **state)
{
	size_t len = (size_t)RECORDING_MAX_BYTES + 1, n;
	void *zeros = calloc(1, len), *z = malloc(ZSTD_compressBound(len));
	struct err err = {0};
	ZSTD_CCtx *c = ZSTD_createCCtx();

	(void)state;
	n = ZSTD_compress(z, ZSTD_compressBound(len), zeros, len, 1);
	assert_true(n < 1 << 20);
	assert_int_equal(open_bytes(z, n, &err), -EBADMSG);
	/* Without its size in the header. */
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
	n = ZSTD_compress2(c, z, ZSTD_compressBound(len), zeros, 1 << 20);
	assert_int_equal(open_bytes(z, n, &err), -EBADMSG);
	/* Small, but of zeros; damaged; nothing at all; no zstd. */
	n = ZSTD_compress(z, ZSTD_compressBound(len), zeros, 100, 1);
	assert_int_equal(open_bytes(z, n, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "not a recording"));
	assert_int_equal(open_bytes(z, n - 1, &err), -EBADMSG);
	assert_int_equal(open_bytes("", 0, &err), -EBADMSG);
	assert_int_equal(open_bytes(BYTES(RECORDING_MAGIC "\0\0\0\0"), &err), -EBADMSG);
	ZSTD_freeCCtx(c);
	free(zeros);
	free(z);
}

static void numbers_of_any_size(void **state)
{
	static const uint64_t values[] = {0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT64_MAX >> 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct recording_writer *w = recording_writer_new();
		struct raw_sample s = sample_make(1);
		uint64_t addr = values[i] == UINT64_MAX ? UINT64_MAX - 1 : values[i];
		struct recording *r;
		char want[64];
		struct buf raw;

		recording_note(w, addr, "x", 1);
		recording_writer_sample(w, &s, 1);
		finish(w, &raw);
		recording_writer_free(w);
		assert_int_equal(recording_parse(raw.data, raw.len, &r, NULL), 0);
		snprintf(want, sizeof(want), "%llx:x ", (unsigned long long)addr);
		assert_spans(r, 0, want);
		recording_close(r);
		buf_done(&raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_comes_back),
		cmocka_unit_test(cut_anywhere_is_an_error),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(absurd_sections_are_refused),
		cmocka_unit_test(memory_stands_once_before_a_sample),
		cmocka_unit_test(what_is_parsed_is_bounded),
		cmocka_unit_test(bombs_are_refused),
		cmocka_unit_test(numbers_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
