#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_priv.h"
#include "symbolizer/native/dso_record.h"
#include "symbolizer/target/mem.h"

#define LIBJVM "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"

static struct dso *open_within(const char *path, struct budget *b)
{
	struct err err = {0};
	struct dso *d = NULL;
	int r = dso_open_fd(open(path, O_RDONLY | O_CLOEXEC), path, b, &d, &err);

	if (r < 0)
		fail_msg("%s: %d %s", path, r, err.msg);
	return d;
}

static struct dso *open_path(const char *path)
{
	return open_within(path, NULL);
}

/* The address of hidden_work(), from the file that has everything. */
static uint64_t hidden_work(uint64_t *size)
{
	struct dso *d = open_path(SAMPLES "/full_none.so");
	uint64_t v;

	assert_int_equal(dso_find_by_name(d, "hidden_work", &v, size), 0);
	assert_true(*size > 4);
	dso_close(d);
	return v;
}

static void finds_functions_anywhere_inside(void **state)
{
	struct dso *d = open_path(SAMPLES "/full_none.so");
	uint64_t size, v = hidden_work(&size);
	struct dso_symbol s;

	(void)state;
	assert_int_equal(dso_find_symbol(d, v, &s), 0);
	assert_string_equal(s.name, "hidden_work");
	assert_int_equal(s.vaddr, v);
	assert_int_equal(s.size, size);
	assert_int_equal(dso_find_symbol(d, v + size - 1, &s), 0);
	assert_string_equal(s.name, "hidden_work");
	if (dso_find_symbol(d, v + size, &s) == 0)
		assert_string_not_equal(s.name, "hidden_work");
	assert_int_equal(dso_find_symbol(d, 0, &s), -ENOENT);
	assert_int_equal(dso_find_symbol(d, UINT64_MAX, &s), -ENOENT);
	assert_true(dso_has_symtab(d));
	assert_string_equal(dso_name(d), "full_none.so");
	dso_close(d);
}

/* Addresses from 0x1000 to 0x2000 with that name, in one run; its length. */
static uint64_t run_of(struct dso *d, const char *name)
{
	uint64_t n = 0, last = 0;

	for (uint64_t v = 0x1000; v < 0x2000; v++) {
		struct dso_symbol s;

		if (dso_find_symbol(d, v, &s) || strcmp(s.name, name))
			continue;
		assert_true(!n || v == last + 1 || s.vaddr > last);
		assert_in_range(v, s.vaddr, s.vaddr + s.size - 1);
		last = v;
		n++;
	}
	return n;
}

static void stubs_have_the_name_of_what_they_call(void **state)
{
	static const char *const files[] = {SAMPLES "/full_none.so", SAMPLES "/bare.so", SAMPLES "/ibt.so"};
	struct dso_symbol s;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct dso *d = open_path(files[i]);

		/* With endbr64 there are two: one that is called, one that has the slot filled. */
		assert_int_equal(run_of(d, "getpid@plt"), i == 2 ? 32 : 16);
		assert_int_equal(run_of(d, "__cxa_finalize@plt"), i == 2 ? 16 : 8);
		assert_int_equal(dso_find_symbol(d, 0, &s), -ENOENT);
		assert_int_equal(dso_find_symbol(d, UINT64_MAX, &s), -ENOENT);
		dso_close(d);
	}
}

static void prefers_the_better_name(void **state)
{
	struct dso *d = open_path(SAMPLES "/full_none.so");
	struct dso_symbol s;
	uint64_t v, w, size;

	(void)state;
	assert_int_equal(dso_find_by_name(d, "sample_alias", &v, &size), 0);
	assert_int_equal(dso_find_symbol(d, v, &s), 0);
	assert_string_equal(s.name, "sample_entry"); /* not the weak one */
	/* Written in assembly: no type, no size; ends where the next symbol starts; the local label
	 * behind it is no function. */
	assert_int_equal(dso_find_by_name(d, "asm_unsized", &v, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(dso_find_symbol(d, v + 2, &s), 0);
	assert_string_equal(s.name, "asm_unsized");
	assert_int_equal(s.vaddr, v);
	assert_int_equal(s.size, 3);
	assert_int_equal(dso_find_exported(d, "sample_alias", &v, &size), 0);
	assert_int_equal(dso_find_exported(d, "hidden_work", &v, &size), -ENOENT);
	assert_false(dso_has_variable(d, "no_such_name"));
	assert_true(dso_has_variable(d, "sample_sum"));
	assert_true(dso_has_section(d, ".text"));
	assert_false(dso_has_section(d, ".svm_heap"));
	/* Data is found by name only. */
	assert_int_equal(dso_find_by_name(d, "sample_sum", &v, &size), 0);
	assert_int_equal(size, 4);
	assert_int_equal(dso_find_symbol(d, v, &s), -ENOENT);
	assert_int_equal(dso_find_by_name(d, "no_such_name", &v, &size), -ENOENT);
	/* Where no function will do, none in the full table answers. */
	assert_int_equal(dso_find_by_name(d, "sample_sum", &v, &size), 0);
	assert_int_equal(dso_find_variable(d, "sample_sum", &w, &size), 0);
	assert_int_equal(w, v);
	assert_int_equal(size, 4);
	assert_int_equal(dso_find_variable(d, "hidden_work", &w, &size), -ENOENT);
	assert_int_equal(dso_find_variable(d, "no_such_name", &w, &size), -ENOENT);
	dso_close(d);
}

struct opener {
	const char *file; /* given for every path that ends in this or is a build-id path */
	char asked[8][512];
	int n;
	bool by_id;
};

static int fake_open(void *ctx, const char *path)
{
	struct opener *o = ctx;
	bool is_id = strstr(path, "/.build-id/") != NULL;

	if (o->n < 8)
		snprintf(o->asked[o->n++], sizeof(o->asked[0]), "%s", path);
	if (o->by_id != is_id || !o->file)
		return -ENOENT;
	return open(o->file, O_RDONLY | O_CLOEXEC);
}

static void separate_file_by_crc(void **state)
{
	struct dso *d = open_path(SAMPLES "/stripped_none.so");
	struct opener o = {.file = SAMPLES "/full_none.debug"};
	uint64_t size, v = hidden_work(&size);
	struct dso_line lines[8];
	struct dso_symbol s;

	(void)state;
	dso_set_debug_open(d, fake_open, &o);
	assert_int_equal(dso_find_symbol(d, v, &s), 0);
	assert_string_equal(s.name, "hidden_work");
	assert_string_equal(o.asked[0], SAMPLES "/full_none.debug");
	assert_true(dso_has_symtab(d));
	assert_true(dso_find_lines(d, v, lines, 8) > 0);
	dso_close(d);
	/* A file with another CRC is not used, and neither is none. */
	d = open_path(SAMPLES "/stripped_none.so");
	o = (struct opener){.file = SAMPLES "/nodebug.so"};
	dso_set_debug_open(d, fake_open, &o);
	assert_int_equal(dso_find_symbol(d, v, &s), -ENOENT);
	assert_int_equal(o.n, 3); /* beside it, .debug/, /usr/lib/debug */
	assert_false(dso_has_symtab(d));
	dso_close(d);
}

static void separate_file_by_build_id(void **state)
{
	struct dso *d = open_path(SAMPLES "/stripped_sha1.so");
	struct opener o = {.file = SAMPLES "/full_sha1.debug", .by_id = true};
	uint64_t size, v;
	size_t len;

	(void)state;
	dso_build_id(d, &len);
	assert_int_equal(len, 20);
	dso_set_debug_open(d, fake_open, &o);
	assert_int_equal(dso_find_by_name(d, "hidden_work", &v, &size), 0);
	assert_int_equal(strncmp(o.asked[0], "/usr/lib/debug/.build-id/", 25), 0);
	assert_int_equal(strlen(o.asked[0]), 25 + 41 + strlen(".debug"));
	dso_close(d);
	/* The right name, the wrong file. */
	d = open_path(SAMPLES "/stripped_sha1.so");
	o = (struct opener){.file = SAMPLES "/full_none.debug", .by_id = true};
	dso_set_debug_open(d, fake_open, &o);
	assert_int_equal(dso_find_by_name(d, "hidden_work", &v, &size), -ENOENT);
	dso_close(d);
}

/* At its first instruction and inside of it. */
static void expect_rows(struct dso *d, uint64_t v)
{
	const struct cfi_row *row;

	assert_int_equal(dso_cfi_row(d, v, &row), 0);
	assert_int_equal(row->cfa_reg, X86_RSP);
	assert_int_equal(row->cfa_off, 8);
	assert_int_equal(row->rule[X86_RIP].kind, CFI_OFFSET);
	assert_int_equal(row->rule[X86_RIP].value, -8);
	assert_int_equal(row->rule[X86_RBX].kind, CFI_SAME);
	assert_int_equal(dso_cfi_row(d, v + 1, &row), 0);
}

static void rows_of_debug_frame(void **state)
{
	static const char *const files[] = {"/frame.so", "/frame_zlib.so", "/frame_gnu.so", "/frame_zstd.so"};
	struct opener o = {.file = SAMPLES "/frame.debug"};
	const struct cfi_row *row;
	uint64_t v, size;
	struct dso *d;

	(void)state;
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s%s", SAMPLES, files[i]);
		d = open_path(path);
		assert_int_equal(dso_find_by_name(d, "sample_entry", &v, &size), 0);
		expect_rows(d, v);
		assert_int_equal(dso_cfi_row(d, v + 0x100000, &row), -ENOENT);
		dso_close(d);
	}
	d = open_path(SAMPLES "/frame_stripped.so");
	assert_int_equal(dso_cfi_row(d, v, &row), -ENOENT); /* no file is opened without leave */
	dso_close(d);
	d = open_path(SAMPLES "/frame_stripped.so");
	dso_set_debug_open(d, fake_open, &o);
	expect_rows(d, v);
	dso_close(d);
}

static char *read_all(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *bytes;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*len + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *len, f), *len);
	fclose(f);
	return bytes;
}

static void write_all(const char *path, const void *bytes, size_t len)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static Elf64_Shdr section_of(const char *elf, const char *name)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh, names;

	memcpy(&eh, elf, sizeof(eh));
	memcpy(&names, elf + eh.e_shoff + eh.e_shstrndx * sizeof(names), sizeof(names));
	for (size_t i = 0; i < eh.e_shnum; i++) {
		memcpy(&sh, elf + eh.e_shoff + i * sizeof(sh), sizeof(sh));
		if (!strcmp(elf + names.sh_offset + sh.sh_name, name))
			return sh;
	}
	fail_msg("no section %s", name);
	return (Elf64_Shdr){0};
}

/* Copies of frame_zstd.so in which a bit of the section is changed have no rows. */
static void damaged_zstd_is_refused(void **state)
{
	static const char file[] = SAMPLES "/damaged_zstd.so";
	static const size_t at[] = {offsetof(Elf64_Chdr, ch_size), sizeof(Elf64_Chdr), sizeof(Elf64_Chdr) + 3};
	const struct cfi_row *row;
	uint64_t v, size;
	size_t len;

	(void)state;
	for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		char *elf = read_all(SAMPLES "/frame_zstd.so", &len);
		Elf64_Shdr sh = section_of(elf, ".debug_frame");
		struct dso *d;

		assert_true(sh.sh_flags & SHF_COMPRESSED);
		elf[sh.sh_offset + at[i]] ^= 1;
		write_all(file, elf, len);
		free(elf);
		d = open_path(file);
		assert_int_equal(dso_find_by_name(d, "sample_entry", &v, &size), 0);
		assert_int_equal(dso_cfi_row(d, v, &row), -ENOENT);
		dso_close(d);
	}
	unlink(file);
}

/* Sparse, so that it costs its maker nothing. */
static void checksums_are_bounded(void **state)
{
	static const char file[] = SAMPLES "/sparse.debug";
	char *elf;
	size_t len;
	uint64_t size, v = hidden_work(&size);
	struct opener o = {.file = file};
	struct dso_symbol s;
	struct budget b;

	(void)state;
	elf = read_all(SAMPLES "/full_none.debug", &len);
	write_all(file, elf, len);
	free(elf);
	assert_int_equal(truncate(file, BUDGET_CHECKED / 2), 0);
	budget_init(&b, UINT64_C(1) << 30, UINT64_MAX);
	for (int i = 0; i < 2; i++) {
		struct dso *d = open_within(SAMPLES "/stripped_none.so", &b);

		dso_set_debug_open(d, fake_open, &o);
		assert_int_equal(dso_find_symbol(d, v, &s), -ENOENT);
		assert_int_equal(b.refused, i ? 4 : 1); /* of three places each, two can be read */
		dso_close(d);
	}
	assert_non_null(strstr(b.note[0], "debug file of " SAMPLES "/stripped_none.so (268.4 MB)"));
	unlink(file);
}

/* bare.so with `section` (xz or not) as .gnu_debugdata. */
static struct dso *open_with_debugdata(const void *section, size_t len)
{
	struct dso *d;
	char dir[] = "/tmp/js_native_XXXXXX", data[64], out[64], command[1024];

	assert_non_null(mkdtemp(dir));
	snprintf(data, sizeof(data), "%s/data", dir);
	snprintf(out, sizeof(out), "%s/out.so", dir);
	write_all(data, section, len);
	snprintf(command, sizeof(command), "%s --add-section .gnu_debugdata=%s %s/bare.so %s", OBJCOPY, data, SAMPLES,
		 out);
	assert_int_equal(system(command), 0);
	d = open_path(out);
	unlink(data);
	unlink(out);
	rmdir(dir);
	return d;
}

static void mini_debug_info(void **state)
{
	uint64_t size, v = hidden_work(&size);
	struct dso_symbol s;
	struct dso *d;
	size_t len, packed_len = 0;
	char *elf = read_all(SAMPLES "/nodebug.so", &len);
	uint8_t *packed = malloc(len + 65536);

	(void)state;
	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (uint8_t *)elf, len, packed, &packed_len,
						 len + 65536),
			 LZMA_OK);
	d = open_with_debugdata(packed, packed_len);
	assert_int_equal(dso_find_symbol(d, v + 1, &s), 0);
	assert_string_equal(s.name, "hidden_work");
	dso_close(d);
	d = open_with_debugdata(packed, packed_len / 2); /* cut off */
	assert_int_equal(dso_find_symbol(d, v, &s), -ENOENT);
	dso_close(d);
	d = open_with_debugdata(elf, len); /* not xz */
	assert_int_equal(dso_find_symbol(d, v, &s), -ENOENT);
	dso_close(d);
	free(packed);
	free(elf);
}

/* A few kilobytes that stand for 300 MiB. */
static void mini_debug_info_is_bounded(void **state)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	static uint8_t zeros[1 << 20], packed[1 << 20];
	struct dso_symbol s;
	struct dso *d;
	unsigned i;

	(void)state;
	assert_int_equal(lzma_easy_encoder(&xz, 0, LZMA_CHECK_NONE), LZMA_OK);
	xz.next_out = packed;
	xz.avail_out = sizeof(packed);
	for (i = 0; i < 300; i++) {
		xz.next_in = zeros;
		xz.avail_in = sizeof(zeros);
		assert_int_equal(lzma_code(&xz, i < 299 ? LZMA_RUN : LZMA_FINISH), i < 299 ? LZMA_OK : LZMA_STREAM_END);
	}
	d = open_with_debugdata(packed, sizeof(packed) - xz.avail_out);
	lzma_end(&xz);
	assert_int_equal(dso_find_symbol(d, 0x10000000, &s), -ENOENT);
	dso_close(d);
}

static void expect_inlined_lines(const char *path)
{
	static const char *const function[] = {"inlined_inner", "inlined_outer", "hidden_work"};
	static const int line[] = {9, 15, 20};
	struct dso *d = open_path(path);
	uint64_t size, v = hidden_work(&size), off;
	struct dso_line l[8];
	bool found = false;

	for (off = 0; off < size && !found; off++) {
		size_t n = dso_find_lines(d, v + off, l, 8), i;

		assert_true(n >= 1 && n <= 3);
		assert_string_equal(l[n - 1].function, "hidden_work");
		if (n != 3 || l[0].line != 9)
			continue;
		found = true;
		for (i = 0; i < 3; i++) {
			assert_string_equal(l[i].function, function[i]);
			assert_int_equal(l[i].line, line[i]);
			assert_non_null(strstr(l[i].file, "native_sample.c"));
		}
	}
	assert_true(found);
	assert_int_equal(dso_find_lines(d, 0, l, 8), 0);
	assert_int_equal(dso_find_lines(d, v, l, 0), 0);
	dso_close(d);
}

static void lines_with_inlined_functions(void **state)
{
	struct dso *d = open_path(SAMPLES "/nodebug.so");
	uint64_t size, v = hidden_work(&size);
	struct dso_line l[8];

	(void)state;
	expect_inlined_lines(SAMPLES "/full_none.so");
	expect_inlined_lines(SAMPLES "/full_zstd.so");
	assert_int_equal(dso_find_lines(d, v, l, 8), 0);
	dso_close(d);
}

static void vdso_from_memory(void **state)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR), v, size, start;
	struct mem *mem = mem_pages_new();
	const struct cfi_row *row;
	struct dso_symbol s;
	struct dso *d;

	(void)state;
	if (!base)
		skip();
	assert_non_null(mem);
	assert_int_equal(mem_pages_add(mem, base, (void *)(uintptr_t)base, 8192), 0);
	assert_int_equal(dso_open_mem(mem, base, base + 8192, "[vdso]", &d, NULL), 0);
	assert_int_equal(dso_find_by_name(d, "__vdso_clock_gettime", &v, &size), 0);
	assert_int_equal(dso_find_symbol(d, v + size / 2, &s), 0);
	assert_non_null(strstr(s.name, "clock_gettime"));
	assert_int_equal(dso_cfi_row(d, v, &row), 0);
	assert_int_equal(row->cfa_reg, X86_RSP);
	assert_int_equal(row->cfa_off, 8);
	assert_true(dso_offset_to_vaddr(d, 0x100, &start));
	assert_int_equal(start, 0x100);
	dso_close(d);
	assert_int_equal(dso_open_mem(mem, base, base + (1 << 20), "[vdso]", &d, NULL), -EFBIG);
	assert_int_equal(dso_open_mem(mem, base - 4096, base + 4096, "[vdso]", &d, NULL), -EFAULT);
	assert_int_equal(dso_open_mem(mem, base + 64, base + 4096, "[vdso]", &d, NULL), -ENOEXEC);
	mem_free(mem);
}

static int open_bytes(const void *bytes, size_t len, struct dso **ret)
{
	char path[] = "/tmp/js_native_XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	return dso_open_fd(fd, "sample", NULL, ret, NULL);
}

static void refuses_what_is_not_ours(void **state)
{
	struct err err = {0};
	struct dso *d;
	size_t len;
	char *elf = read_all(SAMPLES "/bare.so", &len);

	(void)state;
	assert_int_equal(dso_open_fd(open("/tmp", O_RDONLY), "/tmp", NULL, &d, &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "/tmp"));
	assert_int_equal(open_bytes("", 0, &d), -ENOEXEC);
	assert_int_equal(open_bytes("#!/bin/sh\n", 10, &d), -ENOEXEC);
	assert_int_equal(open_bytes(elf, 63, &d), -ENOEXEC);
	elf[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_bytes(elf, len, &d), -ENOEXEC);
	elf[EI_CLASS] = ELFCLASS64;
	elf[18] = (char)EM_AARCH64;
	assert_int_equal(open_bytes(elf, len, &d), -ENOEXEC);
	free(elf);
}

/* Everything there is to ask. */
static void exercise(struct dso *d)
{
	const struct cfi_row *row;
	struct dso_symbol s;
	struct dso_line l[4];
	uint64_t v, size;

	for (v = 0x1000; v < 0x1140; v += 5) {
		dso_find_symbol(d, v, &s);
		dso_cfi_row(d, v, &row);
	}
	dso_find_by_name(d, "hidden_work", &v, &size);
	dso_find_by_name(d, "sample_entry", &v, &size);
	dso_find_lines(d, 0x1100, l, 4);
	dso_offset_to_vaddr(d, 0x1100, &v);
}

/* Every byte of the section is wrong once: rows may be, nothing else. */
static void damaged_debug_frames(void **state)
{
	size_t len, at;
	char *elf, *found = NULL;
	(void)state;

	elf = read_all(SAMPLES "/frame.so", &len);
	/* A CIE: 4 bytes of length, the id of all ones, version 1, 3 or 4. */
	for (at = 64; at + 16 < len && !found; at += 4)
		if (!memcmp(elf + at + 4, "\xff\xff\xff\xff", 4) &&
		    (elf[at + 8] == 1 || elf[at + 8] == 3 || elf[at + 8] == 4))
			found = elf + at;
	assert_non_null(found);
	for (size_t i = 0; i < 160 && found + i < elf + len; i++)
		for (unsigned k = 0; k < 4; k++) {
			static const uint8_t flip[] = {0xff, 0x80, 0x01, 0x40};
			struct dso *d;

			found[i] ^= (char)flip[k];
			if (open_bytes(elf, len, &d) == 0) {
				exercise(d);
				dso_close(d);
			}
			found[i] ^= (char)flip[k];
		}
	free(elf);
}

static void damaged_files(void **state)
{
	size_t len, n;
	char *elf = read_all(SAMPLES "/full_none.so", &len), *copy = malloc(len);
	unsigned opened = 0, i, k;
	struct dso *d;

	(void)state;
	assert_non_null(copy);
	for (i = 0; i < 2000; i++) {
		memcpy(copy, elf, len);
		/* Every second time in the headers, where it matters more. */
		for (k = 0; k <= hash_u64(i) % 4; k++) {
			uint64_t h = hash_u64(i * 16 + k + 1);
			size_t at = i % 2 ? h % len : h & 1 ? (h >> 8) % 1024 : len - 1 - (h >> 8) % 3072;

			copy[at] = (char)(h >> 48);
		}
		if (open_bytes(copy, len, &d) == 0) {
			exercise(d);
			dso_close(d);
			opened++;
		}
	}
	assert_true(opened > 1000);
	for (n = 64; n < len; n += 97)
		if (open_bytes(elf, n, &d) == 0) {
			exercise(d);
			dso_close(d);
		}
	free(copy);
	free(elf);
}

/* Truncating a file under us must not be able to kill us: nothing of it is mapped. */
static void file_is_never_mapped(void **state)
{
	char path[] = "/tmp/js_native_XXXXXX", line[512];
	int fd = mkstemp(path);
	struct dso_symbol s;
	struct dso *d;
	size_t len;
	char *elf = read_all(SAMPLES "/full_none.so", &len);
	FILE *f;

	(void)state;
	assert_int_equal(write(fd, elf, len), (ssize_t)len);
	close(fd);
	d = open_path(path);
	exercise(d);
	f = fopen("/proc/self/maps", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		assert_null(strstr(line, path));
	fclose(f);
	dso_close(d);
	d = open_path(path);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(dso_find_symbol(d, 0x1100, &s), -ENOENT);
	exercise(d);
	dso_close(d);
	unlink(path);
	free(elf);
}

static int count_maps(const char *name)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, name) != NULL;
	fclose(f);
	return n;
}

static double ms_since(uint64_t start)
{
	return (double)(clock_thread_cpu_ns() - start) / 1e6;
}

static void libjvm_is_quick(void **state)
{
	const struct cfi_row *row;
	uint64_t v, size, start = clock_thread_cpu_ns();
	struct dso_symbol s;
	double opened, named, symbols, statics;
	struct dso *d;

	(void)state;
	if (access(LIBJVM, R_OK) != 0) {
		print_message("no libjvm here\n");
		return;
	}
	d = open_path(LIBJVM);
	opened = ms_since(start);
	start = clock_thread_cpu_ns();
	assert_int_equal(dso_find_by_name(d, "gHotSpotVMStructs", &v, &size), 0);
	assert_int_equal(size, 8);
	named = ms_since(start);
	start = clock_thread_cpu_ns();
	assert_int_equal(dso_find_by_name(d, "JVM_CurrentTimeMillis", &v, &size), 0);
	assert_int_equal(dso_cfi_row(d, v, &row), 0);
	print_message("libjvm: open %.2f ms, first name %.2f, first row %.2f", opened, named, ms_since(start));
	start = clock_thread_cpu_ns();
	assert_int_equal(dso_find_symbol(d, v + 1, &s), 0);
	assert_string_equal(s.name, "JVM_CurrentTimeMillis");
	symbols = ms_since(start);
	start = clock_thread_cpu_ns();
	dso_find_variable(d, "_ZN12StubRoutines21_jbyte_disjoint_arraycopyE", &v, &size);
	statics = ms_since(start);
	print_message(", first symbol %.2f, first static %.2f\n", symbols, statics);
	assert_int_equal(count_maps("libjvm"), 0);
	dso_close(d);
}

/* Looks up addresses below `end` in a file with its table, and in one that has just been opened. */
static void compare_with_table(const char *path, uint64_t end)
{
	struct dso *whole = open_path(path), *fresh = open_path(path);
	uint64_t x = 88172645463325252;
	unsigned found = 0;

	assert_true(dso_has_symtab(whole));
	for (unsigned tries = 0; tries < 100000 && found < 500; tries++) {
		struct dso_symbol want, got;

		x = x * 6364136223846793005 + 1442695040888963407;
		if (dso_find_symbol(whole, (x >> 20) % end, &want) < 0 || strstr(want.name, "@plt"))
			continue;
		if (found++ % 32 == 31) {
			dso_close(fresh);
			fresh = open_path(path);
		}
		assert_int_equal(dso_find_symbol(fresh, (x >> 20) % end, &got), 0);
		assert_string_equal(got.name, want.name);
		assert_int_equal(got.vaddr, want.vaddr);
		assert_int_equal(got.size, want.size);
	}
	assert_true(found >= 100);
	dso_close(whole);
	dso_close(fresh);
}

static void first_addresses_need_no_table(void **state)
{
	struct dso *d = open_path("/proc/self/exe");
	struct dso_symbol s;
	uint64_t v, size;

	(void)state;
	assert_int_equal(dso_find_by_name(d, "dso_find_by_name", &v, &size), 0);
	for (int i = 0; i < 32; i++) {
		assert_int_equal(dso_find_symbol(d, v + size - 1, &s), 0);
		assert_string_equal(s.name, "dso_find_by_name");
		assert_int_equal(s.size, size);
		assert_false(d->symbols.loaded);
	}
	assert_int_equal(dso_find_symbol(d, v, &s), 0);
	assert_true(d->symbols.loaded);
	assert_string_equal(s.name, "dso_find_by_name");
	dso_close(d);
	compare_with_table("/proc/self/exe", 4 << 20);
	if (access(LIBJVM, R_OK) == 0)
		compare_with_table(LIBJVM, 24 << 20);
}

struct collected {
	struct dso_record_row rows[64];
	struct dso_symbol symbols[64];
	struct dso_symbol names[8];
	struct dso_record_line lines[64];
	struct dso_record rec;
};

static void note_row(void *ctx, struct dso *d, uint64_t vaddr, const struct cfi_row *row)
{
	struct collected *c = ctx;

	(void)d;
	if (c->rec.n_rows < 64)
		c->rows[c->rec.n_rows++] = (struct dso_record_row){vaddr, row};
}

static void note_symbol(void *ctx, struct dso *d, uint64_t vaddr, const struct dso_symbol *sym)
{
	struct collected *c = ctx;

	(void)d;
	(void)vaddr;
	if (c->rec.n_symbols < 64)
		c->symbols[c->rec.n_symbols++] = *sym;
}

static void note_name(void *ctx, struct dso *d, const char *name, uint64_t vaddr, uint64_t size)
{
	struct collected *c = ctx;

	(void)d;
	c->names[c->rec.n_names++] = (struct dso_symbol){name, vaddr, size};
}

static void note_lines(void *ctx, struct dso *d, uint64_t vaddr, const struct dso_line *lines, size_t n)
{
	struct collected *c = ctx;
	size_t i;

	(void)d;
	for (i = 0; i < n && c->rec.n_lines < 64; i++)
		c->lines[c->rec.n_lines++] = (struct dso_record_line){vaddr, lines[i]};
}

/* The second entry of .plt: the first ones in this file that have rows with expressions. */
static uint64_t plt_entry(void)
{
	size_t len;
	char *elf = read_all(SAMPLES "/full_sha1.so", &len);
	uint64_t start = section_of(elf, ".plt").sh_addr;

	free(elf);
	return start + 16;
}

static void record_replays_what_was_asked(void **state)
{
	struct collected c = {0};
	const struct dso_tap tap = {note_row, note_symbol, note_name, note_lines, &c};
	struct dso *file = open_path(SAMPLES "/full_sha1.so"), *d;
	const struct cfi_row *row, *replayed;
	struct dso_symbol s, rs;
	struct dso_line l[4], rl[4];
	uint64_t v, size, rv, rsize, plt;
	size_t n, len;

	(void)state;
	dso_set_tap(file, &tap);
	assert_int_equal(dso_find_by_name(file, "hidden_work", &v, &size), 0);
	assert_int_equal(dso_find_symbol(file, v + 2, &s), 0);
	assert_int_equal(dso_cfi_row(file, v, &row), 0);
	plt = plt_entry() + 6;
	assert_int_equal(dso_cfi_row(file, plt, &row), 0); /* an expression */
	assert_non_null(row->exprs);
	assert_true(row->cfa_is_expr);
	n = dso_find_lines(file, v + 2, l, 4);
	assert_true(n > 0);
	c.rec.rows = c.rows;
	c.rec.symbols = c.symbols;
	c.rec.names = c.names;
	c.rec.lines = c.lines;
	c.rec.has_symtab = dso_has_symtab(file);
	c.rec.build_id = dso_build_id(file, &c.rec.build_id_len);
	c.rec.segments = dso_segments(file, &c.rec.n_segments);
	assert_int_equal(dso_open_record(&c.rec, "/lib/replayed.so", &d), 0);
	assert_int_equal(dso_cfi_row(d, plt, &replayed), 0);
	assert_memory_equal(replayed->rule, row->rule, sizeof(row->rule));
	assert_memory_equal(replayed->exprs, row->exprs, sizeof(*row->exprs));
	assert_int_equal(replayed->computed, row->computed);
	dso_close(file);
	assert_int_equal(dso_find_by_name(d, "hidden_work", &rv, &rsize), 0);
	assert_int_equal(rv, v);
	assert_int_equal(rsize, size);
	assert_int_equal(dso_find_symbol(d, v + 2, &rs), 0);
	assert_string_equal(rs.name, "hidden_work");
	assert_int_equal(dso_find_lines(d, v + 2, rl, 4), n);
	assert_string_equal(rl[n - 1].function, "hidden_work");
	assert_int_equal(dso_cfi_row(d, v + 1, &row), -ENOENT);
	assert_int_equal(dso_find_symbol(d, 0x10, &rs), -ENOENT);
	assert_int_equal(dso_find_by_name(d, "sample_sum", &rv, &rsize), -ENOENT);
	assert_true(dso_has_symtab(d));
	dso_build_id(d, &len);
	assert_int_equal(len, 20);
	assert_true(dso_offset_to_vaddr(d, 0x1000, &rv));
	assert_string_equal(dso_name(d), "replayed.so");
	dso_close(d);
}

/* Segments as lld lays them out: file pages shared between segments, vaddr and offset differ. */
static void offsets_of_shared_pages(void **state)
{
	static const struct dso_segment segs[] = {{0, 0, 0x700, 0x700, PF_R},
						  {0x700, 0x1700, 0x8000, 0x8000, PF_R | PF_X},
						  {0x8700, 0xa700, 0x100, 0x900, PF_R | PF_W}};
	struct dso_record rec = {.segments = segs, .n_segments = 3};
	struct dso *d;
	uint64_t v;

	(void)state;
	assert_int_equal(dso_open_record(&rec, "x", &d), 0);
	assert_true(dso_offset_to_vaddr(d, 0x1234, &v));
	assert_int_equal(v, 0x2234);
	assert_true(dso_offset_to_vaddr(d, 0x10, &v)); /* mapped with the code, before its start */
	assert_int_equal(v, 0x1010);
	assert_true(dso_offset_to_vaddr(d, 0x8750, &v)); /* in the code's last page too */
	assert_int_equal(v, 0x9750);
	assert_false(dso_offset_to_vaddr(d, 0x9000, &v));
	assert_false(dso_offset_to_vaddr(d, UINT64_MAX, &v));
	dso_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions_anywhere_inside),
		cmocka_unit_test(stubs_have_the_name_of_what_they_call),
		cmocka_unit_test(rows_of_debug_frame),
		cmocka_unit_test(damaged_zstd_is_refused),
		cmocka_unit_test(damaged_debug_frames),
		cmocka_unit_test(prefers_the_better_name),
		cmocka_unit_test(separate_file_by_crc),
		cmocka_unit_test(separate_file_by_build_id),
		cmocka_unit_test(checksums_are_bounded),
		cmocka_unit_test(mini_debug_info),
		cmocka_unit_test(mini_debug_info_is_bounded),
		cmocka_unit_test(lines_with_inlined_functions),
		cmocka_unit_test(vdso_from_memory),
		cmocka_unit_test(refuses_what_is_not_ours),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(file_is_never_mapped),
		cmocka_unit_test(libjvm_is_quick),
		cmocka_unit_test(first_addresses_need_no_table),
		cmocka_unit_test(record_replays_what_was_asked),
		cmocka_unit_test(offsets_of_shared_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
