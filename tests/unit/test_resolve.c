#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/profile.h"
#include "sampler/resolve/resolver.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/native/names/demangled.h"
#include "symbolizer/native/names/perfmap.h"
#include "tests/support/folded_text.h"
#include "tests/support/kallsyms_text.h"

/*
 * A small world of its own under the resolver: these definitions stand in for those of hotspot,
 * attribution, modmap and dso. The opaque structs are never looked into, so any pointer will do.
 */
static int somewhere;
#define FAKE(type) ((struct type *)&somewhere)

enum { M_RUN = 1, M_PUT, M_HASH, M_LAMBDA, M_NATIVE, M_HOSTILE, METHODS };

/* clang-format off */
static const struct hs_method methods[METHODS] = {
	[M_RUN] = {.id = M_RUN, .class_name = "java/lang/Thread", .name = "run", .signature = "()V",
		   .source_file = "Thread.java", .line_table_len = 64 << 10},
	[M_PUT] = {.id = M_PUT, .class_name = "java/util/HashMap", .name = "put",
		   .signature = "(LK;LV;)LV;", .source_file = "HashMap.java"},
	[M_HASH] = {.id = M_HASH, .class_name = "java/util/HashMap", .name = "hash",
		    .signature = "(LK;)I", .source_file = "HashMap.java"},
	[M_LAMBDA] = {.id = M_LAMBDA, .class_name = "Truth$$Lambda$14+0x00007f8905002000",
		      .name = "run", .signature = "()V"},
	[M_NATIVE] = {.id = M_NATIVE, .class_name = "java/util/zip/CRC32", .name = "updateBytes0",
		      .signature = "(I[BII)I", .access_flags = METHOD_NATIVE | METHOD_STATIC,
		      .source_file = "CRC32.java"},
	[M_HOSTILE] = {.id = M_HOSTILE, .class_name = "a;b\033c", .name = "x\ny",
		       .signature = "()V"},
};
/* clang-format on */

enum { C_C2 = 1, C_C1, C_OSR, C_NATIVE, C_MH, C_STUB, C_INTERPRETER, C_NAMELESS, CODES };

/* clang-format off */
static const struct code codes[CODES] = {
	[C_C2] = {.id = C_C2, .kind = BLOB_NMETHOD, .method_id = M_PUT, .tier = 4, .osr_bci = -1,
		  .deopt_handler = 40, .deopt_mh_handler = -1},
	[C_C1] = {.id = C_C1, .kind = BLOB_NMETHOD, .method_id = M_RUN, .tier = 3, .osr_bci = -1},
	[C_OSR] = {.id = C_OSR, .kind = BLOB_NMETHOD, .method_id = M_PUT, .tier = 4, .osr_bci = 9},
	[C_NATIVE] = {.id = C_NATIVE, .kind = BLOB_NATIVE, .method_id = M_NATIVE, .osr_bci = -1},
	[C_MH] = {.id = C_MH, .kind = BLOB_MH_INTRINSIC, .method_id = 0, .osr_bci = -1},
	[C_STUB] = {.id = C_STUB, .kind = BLOB_STUBS, .name = "StubRoutines (2)"},
	[C_INTERPRETER] = {.id = C_INTERPRETER, .kind = BLOB_INTERPRETER, .name = "Interpreter"},
	[C_NAMELESS] = {.id = C_NAMELESS, .kind = BLOB_BUFFER},
};
/* clang-format on */

uint32_t hs_method_count(const struct hotspot *hs)
{
	(void)hs;
	return METHODS - 1;
}

const struct hs_method *hs_method(const struct hotspot *hs, uint32_t id)
{
	(void)hs;
	assert_in_range(id, 1, METHODS - 1);
	return &methods[id];
}

static uint64_t line_takes_ns; /* of CPU time */

int hs_method_line(const struct hotspot *hs, const struct hs_method *m, int32_t bci)
{
	uint64_t start = clock_thread_cpu_ns();

	(void)hs;
	while (line_takes_ns && clock_thread_cpu_ns() - start < line_takes_ns)
		;
	return m->source_file ? 100 + (bci < 0 ? 0 : bci) : -1;
}

uint32_t hs_code_count(const struct hotspot *hs)
{
	(void)hs;
	return CODES - 1;
}

const struct code *hs_code(const struct hotspot *hs, uint32_t id)
{
	(void)hs;
	assert_in_range(id, 1, CODES - 1);
	return &codes[id];
}

const char *hs_stub_name(const struct hotspot *hs, const struct code *code, uint64_t pc_offset)
{
	(void)hs;
	return code->id == C_STUB && pc_offset == 64 ? "jbyte_disjoint_arraycopy" : NULL;
}

/* pc offset 10, 40: a chain of two; 20: a scope whose method is unknown; 30: garbage; else one. */
void attribution_find(struct attribution *a, const struct code *code, int64_t pc_offset, int return_address,
		      struct attributed *ret)
{
	assert_ptr_equal(a, FAKE(attribution));
	ret->n = 1;
	ret->scope[0] = (struct code_scope){code->method_id, return_address ? 1 : 2};
	ret->exactness = return_address ? EXACT : EXACT_FLOW;
	if (pc_offset == 10 || pc_offset == 40) {
		ret->n = 2;
		ret->scope[0] = (struct code_scope){M_HASH, 3};
		ret->scope[1] = (struct code_scope){code->method_id, 7};
	} else if (pc_offset == 20) {
		ret->scope[0].method_id = 0;
	} else if (pc_offset == 30) {
		ret->n = 0;
	}
}

/* DSOs: 1 libjvm.so with a symbol at [0x1000, 0x1100), 2 one that could not be opened, 3 the vDSO. */
uint32_t modmap_dso_count(const struct modmap *m)
{
	(void)m;
	return 3;
}

struct dso *modmap_dso(const struct modmap *m, uint32_t id)
{
	(void)m;
	return id == 1 ? FAKE(dso) : NULL;
}

const char *modmap_dso_path(const struct modmap *m, uint32_t id)
{
	static const char *const paths[] = {"", "/usr/lib/libjvm.so", "/opt/lib;foo.so", "[vdso]"};

	(void)m;
	return id < 4 ? paths[id] : "";
}

const uint8_t *dso_build_id(const struct dso *d, size_t *len)
{
	static const uint8_t id[] = {0xab, 0x01};

	(void)d;
	*len = sizeof(id);
	return id;
}

int dso_find_symbol(struct dso *d, uint64_t vaddr, struct dso_symbol *ret)
{
	(void)d;
	if (vaddr < 0x1000 || vaddr >= 0x1100)
		return -ENOENT;
	*ret = (struct dso_symbol){"_ZN15G1CollectedHeap19do_collection_pauseEv", 0x1000, 0x100};
	return 0;
}

size_t dso_find_lines(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	(void)d;
	if (vaddr != 0x1010 || max < 2)
		return 0;
	ret[0] = (struct dso_line){"inner", "inner.hpp", 11};
	ret[1] = (struct dso_line){NULL, "outer.cpp", 22};
	return 2;
}

static struct resolver_sources all_sources(void)
{
	return (struct resolver_sources){.maps = FAKE(modmap), .hs = FAKE(hotspot), .attribution = FAKE(attribution)};
}

static struct frame_key key(uint8_t kind, uint32_t id, int64_t off)
{
	return (struct frame_key){.kind = kind, .id = id, .off = off};
}

static struct frame_key exact_key(uint8_t kind, uint32_t id, int64_t off)
{
	struct frame_key k = key(kind, id, off);

	k.flags = FRAME_PC_EXACT;
	return k;
}

static size_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void add_stack(struct profile *p, int tid, struct frame_key *keys, uint32_t n)
{
	struct walk w = {.frames = keys, .n = n, .end = WALK_ROOT};

	profile_add(p, 4711, tid, THREAD_RUNNING, &w, 10);
}

static uint64_t unnamed;

static struct named_profile *name(const struct profile *p, struct resolver_sources s, struct resolver_options o)
{
	struct named_builder *b = named_builder_new();

	assert_int_equal(resolver_name(p, &s, &o, b, &unnamed), 0);
	return named_builder_take(b);
}

/* The text of one frame alone on its stack. */
static void check_frame(struct frame_key k, struct resolver_sources s, struct resolver_options o, const char *want)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct named_profile *np;
	char text[256];

	add_stack(p, 1, &k, 1);
	np = name(p, s, o);
	snprintf(text, sizeof(text), "%s 1\n", want);
	check_folded(np, o.show.lines, text);
	named_profile_free(np);
	profile_free(p);
}

static void frames_of_every_kind(void **state)
{
	static const struct {
		struct frame_key key;
		const char *text, *lines;
	} cases[] = {
		{{.kind = FRAME_INTERPRETED, .id = M_RUN, .off = 5},
		 "java/lang/Thread.run_[0]",
		 "java/lang/Thread.run:105_[0]"},
		{{.kind = FRAME_INTERPRETED, .id = M_RUN, .off = FRAME_NO_BCI},
		 "java/lang/Thread.run_[0]",
		 "java/lang/Thread.run:100_[0]"},
		{{.kind = FRAME_INTERPRETED, .id = M_LAMBDA, .off = 5},
		 "Truth$$Lambda.run_[0]",
		 "Truth$$Lambda.run_[0]"},
		{{.kind = FRAME_INTERPRETED, .id = M_NATIVE, .off = -1},
		 "java/util/zip/CRC32.updateBytes0_[0]",
		 "java/util/zip/CRC32.updateBytes0_[0]"},
		{{.kind = FRAME_INTERPRETED, .id = M_HOSTILE, .off = 0}, "a:b?c.x?y_[0]", "a:b?c.x?y_[0]"},
		{{.kind = FRAME_INTERPRETED, .id = 0, .off = 1}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_INTERPRETED, .id = 9999, .off = 1}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_COMPILED, .id = C_C2, .off = 1},
		 "java/util/HashMap.put_[j]",
		 "java/util/HashMap.put:101_[j]"},
		{{.kind = FRAME_COMPILED, .flags = FRAME_PC_EXACT, .id = C_C2, .off = 1},
		 "java/util/HashMap.put_[j]",
		 "java/util/HashMap.put:102_[j]"},
		{{.kind = FRAME_COMPILED, .id = C_C2, .off = 10},
		 "java/util/HashMap.put_[j];java/util/HashMap.hash_[i]",
		 "java/util/HashMap.put:107_[j];java/util/HashMap.hash:103_[i]"},
		{{.kind = FRAME_COMPILED, .id = C_C1, .off = 10},
		 "java/lang/Thread.run_[1];java/util/HashMap.hash_[i]",
		 "java/lang/Thread.run:107_[1];java/util/HashMap.hash:103_[i]"},
		{{.kind = FRAME_COMPILED, .id = C_C2, .off = 20}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_COMPILED, .id = C_C2, .off = 30},
		 "java/util/HashMap.put_[j]",
		 "java/util/HashMap.put:100_[j]"},
		/* The deoptimisation handler: called from there, and in place of a pc that could not be read. */
		{{.kind = FRAME_COMPILED, .id = C_C2, .off = 40},
		 "java/util/HashMap.put_[j];java/util/HashMap.hash_[i]",
		 "java/util/HashMap.put:107_[j];java/util/HashMap.hash:103_[i]"},
		{{.kind = FRAME_COMPILED, .flags = FRAME_DEOPTED, .id = C_C2, .off = 40},
		 "java/util/HashMap.put_[j]",
		 "java/util/HashMap.put:100_[j]"},
		{{.kind = FRAME_COMPILED, .flags = FRAME_DEOPTED, .id = C_C2, .off = 10},
		 "java/util/HashMap.put_[j];java/util/HashMap.hash_[i]",
		 "java/util/HashMap.put:107_[j];java/util/HashMap.hash:103_[i]"},
		{{.kind = FRAME_COMPILED, .id = C_NATIVE, .off = 30},
		 "java/util/zip/CRC32.updateBytes0",
		 "java/util/zip/CRC32.updateBytes0"},
		{{.kind = FRAME_COMPILED, .id = C_MH, .off = 30}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_COMPILED, .id = C_STUB, .off = 64},
		 "jbyte_disjoint_arraycopy",
		 "jbyte_disjoint_arraycopy"},
		{{.kind = FRAME_COMPILED, .id = 9999, .off = 64}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_STUB, .id = C_STUB, .off = 64}, "jbyte_disjoint_arraycopy", "jbyte_disjoint_arraycopy"},
		{{.kind = FRAME_STUB, .id = C_STUB, .off = 1}, "StubRoutines (2)", "StubRoutines (2)"},
		{{.kind = FRAME_STUB, .flags = FRAME_ITABLE, .id = C_STUB, .off = 1}, "itable stub", "itable stub"},
		{{.kind = FRAME_STUB, .id = C_NAMELESS, .off = 1}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_STUB, .id = 0, .off = 1}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_NATIVE, .id = 1, .off = 0x1011},
		 "G1CollectedHeap::do_collection_pause",
		 "G1CollectedHeap::do_collection_pause;inner"},
		{{.kind = FRAME_NATIVE, .id = 1, .off = 0x2000}, "[libjvm.so]", "[libjvm.so]"},
		{{.kind = FRAME_NATIVE, .id = 2, .off = 0x1010}, "[lib:foo.so]", "[lib:foo.so]"},
		{{.kind = FRAME_NATIVE, .id = 3, .off = 0x1010}, "[vdso]", "[vdso]"},
		{{.kind = FRAME_NATIVE, .id = 0, .off = 0x1010}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_NATIVE, .id = 4, .off = 0x1010}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_KERNEL, .off = -4096}, "[kernel]", "[kernel]"},
		{{.kind = FRAME_ANON, .off = 0x7000}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_UNKNOWN, .off = 0x7000}, "[unknown]", "[unknown]"},
		{{.kind = 200, .id = 3}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_MARK, .off = MARK_DEOPT}, "[deopt]", "[deopt]"},
		{{.kind = FRAME_MARK, .off = MARK_KERNEL}, "[kernel]", "[kernel]"},
		{{.kind = FRAME_MARK, .off = MARK_STORAGE_LIMIT}, "[storage limit]", "[storage limit]"},
		{{.kind = FRAME_MARK, .off = 77}, "[unknown]", "[unknown]"},
		{{.kind = FRAME_MARK, .off = -1}, "[unknown]", "[unknown]"},
	};
	struct resolver_sources none = {0};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_frame(cases[i].key, all_sources(), (struct resolver_options){0}, cases[i].text);
		check_frame(cases[i].key, all_sources(), (struct resolver_options){.show.lines = true}, cases[i].lines);
		/* Nothing to ask: no frame may need a source. */
		if (cases[i].key.kind != FRAME_MARK && cases[i].key.kind != FRAME_KERNEL)
			check_frame(cases[i].key, none, (struct resolver_options){0}, "[unknown]");
	}
	check_frame(key(FRAME_INTERPRETED, M_LAMBDA, 0), all_sources(),
		    (struct resolver_options){.show.raw_names = true}, "Truth$$Lambda$14+0x00007f8905002000.run_[0]");
}

/* Naming that is ended: what takes no time still has its name, the rest is counted. */
static void naming_that_is_ended(void **state)
{
	static const struct {
		struct frame_key key;
		const char *text;
		uint64_t unnamed;
	} cases[] = {
		{{.kind = FRAME_NATIVE, .id = 1, .off = 0x1011}, "[libjvm.so]", 1},
		{{.kind = FRAME_NATIVE, .id = 9, .off = 0x1011}, "[unknown]", 1},
		{{.kind = FRAME_COMPILED, .id = C_C2, .off = 10}, "[unknown]", 1},
		{{.kind = FRAME_INTERPRETED, .id = M_RUN, .off = 5}, "java/lang/Thread.run:105_[0]", 0},
		{{.kind = FRAME_MARK, .off = MARK_DEOPT}, "[deopt]", 0},
	};
	atomic_bool ends = true;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_frame(cases[i].key, all_sources(), (struct resolver_options){.show.lines = true, .ends = &ends},
			    cases[i].text);
		assert_int_equal(unnamed, cases[i].unnamed);
	}
	ends = false;
	check_frame(cases[2].key, all_sources(), (struct resolver_options){.ends = &ends},
		    "java/util/HashMap.put_[j];java/util/HashMap.hash_[i]");
	assert_int_equal(unnamed, 0);
}

static int line_of(struct frame_key k, struct resolver_sources s)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct named_profile *np;
	int line;

	add_stack(p, 1, &k, 1);
	np = name(p, s, (struct resolver_options){.show.lines = true});
	line = np->lines[np->locations[np->stack_locations[0]].first_line].line;
	named_profile_free(np);
	profile_free(p);
	return line;
}

/* A table of lines may be made so that each number of 100,000 takes long. */
static void lines_take_limited_time(void **state)
{
	enum { FRAMES = 2000, MS = 1000000 };
	struct frame_key k[FRAMES];
	struct profile *p = profile_new((struct profile_options){0});
	struct resolver_sources s = all_sources();
	struct named_profile *np;
	struct budget b;
	uint64_t start = clock_thread_cpu_ns();

	(void)state;
	for (int i = 0; i < FRAMES; i++)
		k[i] = key(FRAME_INTERPRETED, M_RUN, i);
	add_stack(p, 1, k, FRAMES);
	budget_init(&b, 0, 100 * MS);
	s.files = &b;
	line_takes_ns = MS;
	np = name(p, s, (struct resolver_options){.show.lines = true});
	line_takes_ns = 0;
	assert_true(clock_thread_cpu_ns() - start < UINT64_C(1000) * MS);
	assert_true(np->n_locations >= FRAMES);
	assert_int_equal(b.n_notes, 1);
	assert_non_null(strstr(b.note[0], "line numbers"));
	named_profile_free(np);
	profile_free(p);
	/* What takes no longer than asking whether there is time is done anyway. */
	assert_int_equal(line_of(key(FRAME_INTERPRETED, M_PUT, 5), s), 105);
	assert_int_equal(line_of(key(FRAME_INTERPRETED, M_RUN, 5), s), 0);
}

/* A return address that is the first byte behind a function belongs to that function. */
static void return_addresses_are_looked_up_before_the_call(void **state)
{
	struct resolver_options o = {0};
	(void)state;

	check_frame(key(FRAME_NATIVE, 1, 0x1100), all_sources(), o, "G1CollectedHeap::do_collection_pause");
	check_frame(exact_key(FRAME_NATIVE, 1, 0x1100), all_sources(), o, "[libjvm.so]");
	check_frame(key(FRAME_NATIVE, 1, 0x1000), all_sources(), o, "[libjvm.so]");
	check_frame(exact_key(FRAME_NATIVE, 1, 0x1000), all_sources(), o, "G1CollectedHeap::do_collection_pause");
}

static void readable_names_are_kept(void **state)
{
	static const char mangled[] = "_ZN15G1CollectedHeap19do_collection_pauseEv";
	struct frame_key k = key(FRAME_NATIVE, 1, 0x1050);
	struct resolver_sources s = all_sources();
	struct resolver_options o = {0};
	struct budget b;
	(void)state;

	s.demangled = demangled_new();
	s.files = &b;
	budget_init(&b, 0, UINT64_MAX);
	budget_cancel(&b);
	check_frame(k, s, o, mangled);
	assert_null(demangled_find(s.demangled, mangled)); /* the next one may have time */
	s.files = NULL;
	check_frame(k, s, o, "G1CollectedHeap::do_collection_pause");
	assert_string_equal(demangled_find(s.demangled, mangled), "G1CollectedHeap::do_collection_pause");
	demangled_free(s.demangled);
	s.demangled = demangled_new();
	demangled_add(s.demangled, mangled, "made before");
	check_frame(k, s, o, "made before");
	demangled_free(s.demangled);
}

static void kernel_and_perf_map(void **state)
{
	static const char symbols[] = "ffffffff81000000 T do_syscall_64\n"
				      "ffffffff81000100 T page_fault\n";
	static const char map[] = "7000 100 LazyCompile:~foo\n";
	struct resolver_sources s = {0};
	struct resolver_options o = {0};
	int fd = kallsyms_file(symbols, strlen(symbols)), same = dup(fd);
	struct kallsyms *kernel = kallsyms_open(fd);
	struct perfmap *perfmap = NULL;
	(void)state;

	assert_int_equal(perfmap_parse(map, strlen(map), &perfmap), 0);
	s.kernel = kernel;
	s.perfmap = perfmap;
	check_frame(key(FRAME_ANON, 0, 0x7010), s, o, "LazyCompile:~foo");
	assert_int_equal(lseek(same, 0, SEEK_CUR), 0); /* not read so far */
	check_frame(key(FRAME_KERNEL, 0, (int64_t)0xffffffff81000100), s, o, "do_syscall_64_[k]");
	assert_int_equal(lseek(same, 0, SEEK_CUR), strlen(symbols));
	check_frame(exact_key(FRAME_KERNEL, 0, (int64_t)0xffffffff81000100), s, o, "page_fault_[k]");
	check_frame(key(FRAME_KERNEL, 0, 4096), s, o, "[kernel]");
	check_frame(key(FRAME_ANON, 0, 0x9010), s, o, "[unknown]");
	perfmap_close(perfmap);
	kallsyms_close(kernel);
	close(same);
}

static void a_stack_with_roots(void **state)
{
	struct profile *p = profile_new((struct profile_options){.threads = true, .states = true});
	struct frame_key k[] = {exact_key(FRAME_KERNEL, 0, -8), key(FRAME_KERNEL, 0, -16),
				key(FRAME_MARK, 0, MARK_KERNEL), key(FRAME_COMPILED, C_C2, 10),
				key(FRAME_NATIVE, 1, 0x2000)};
	struct walk w = {.frames = k, .n = 5, .end = WALK_NO_CFI};
	struct named_profile *np;
	(void)state;

	profile_add(p, 4711, 7, THREAD_MONITOR, &w, 10);
	profile_add(p, 4711, 8, THREAD_RUNNING, &w, 10);
	profile_set_thread_name(p, 4711, 7, "http; nio");
	np = name(p, all_sources(),
		  (struct resolver_options){.show = {.thread_root = true, .process_root = true, .state_root = true},
					    .process_name = "java"});
	check_folded(np, false,
		     "[java pid=4711];[http: nio tid=7];[blocked];[incomplete];[libjvm.so];"
		     "java/util/HashMap.put_[j];java/util/HashMap.hash_[i];[kernel] 1\n"
		     "[java pid=4711];[tid=8];[running];[incomplete];[libjvm.so];"
		     "java/util/HashMap.put_[j];java/util/HashMap.hash_[i];[kernel] 1\n");
	assert_int_equal(np->samples[0].tid, 7);
	assert_int_equal(np->samples[0].pid, 4711);
	assert_int_equal(np->samples[0].weight, 10);
	assert_string_equal(named_string(np, np->samples[0].thread), "http; nio");
	assert_string_equal(named_string(np, np->samples[0].state), "blocked");
	named_profile_free(np);
	/* Kept apart, but not wanted as roots: one line. */
	np = name(p, all_sources(), (struct resolver_options){0});
	check_folded(np, false,
		     "[incomplete];[libjvm.so];java/util/HashMap.put_[j];"
		     "java/util/HashMap.hash_[i];[kernel] 2\n");
	assert_int_equal(np->n_samples, 2);
	assert_int_equal(np->n_stacks, 1);
	assert_int_equal(np->samples[1].state, 0); /* every thread runs in a profile of CPU time */
	named_profile_free(np);
	np = name(p, all_sources(), (struct resolver_options){.states = true});
	assert_string_equal(named_string(np, np->samples[1].state), "running");
	assert_string_equal(named_string(np, np->samples[0].state), "blocked");
	named_profile_free(np);
	profile_free(p);
}

static void long_thread_names_keep_the_tid(void **state)
{
	struct profile *p = profile_new((struct profile_options){.threads = true});
	struct frame_key k = key(FRAME_UNKNOWN, 0, 0);
	struct named_profile *np;
	char thread[13000], want[13000];
	(void)state;

	memset(thread, 'x', sizeof(thread) - 1);
	thread[sizeof(thread) - 1] = '\0';
	add_stack(p, 12, &k, 1);
	profile_set_thread_name(p, 4711, 12, thread);
	np = name(p, all_sources(), (struct resolver_options){.show.thread_root = true});
	snprintf(want, sizeof(want), "[%.12288s tid=12];[unknown] 1\n", thread);
	check_folded(np, false, want);
	named_profile_free(np);
	profile_free(p);
}

/* What is in the profile beyond the text. */
static void details_of_lines(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key k[] = {exact_key(FRAME_COMPILED, C_OSR, 10), key(FRAME_NATIVE, 1, 0x1011),
				key(FRAME_INTERPRETED, M_LAMBDA, 4), key(FRAME_KERNEL, 0, -8)};
	struct named_profile *np;
	const struct named_location *l;
	const struct named_line *line;
	const uint32_t *at;
	(void)state;

	add_stack(p, 1, k, 4);
	np = name(p, all_sources(), (struct resolver_options){0});
	at = np->stack_locations + np->stacks[0].first;
	l = &np->locations[at[0]];
	assert_int_equal(l->n_lines, 2);
	assert_string_equal(named_string(np, np->mappings[l->mapping].file), "[jit]");
	line = &np->lines[l->first_line];
	assert_int_equal(line[0].kind, NAMED_INLINED);
	assert_int_equal(line[0].tier, 4);
	assert_int_equal(line[0].bci, 3);
	assert_int_equal(line[0].line, 103);
	assert_int_equal(line[0].exactness, EXACT_FLOW);
	assert_false(line[0].osr);
	assert_int_equal(line[1].kind, NAMED_C2);
	assert_true(line[1].osr);
	assert_string_equal(named_string(np, np->functions[line[1].function].system_name),
			    "java/util/HashMap.put(LK;LV;)LV;");
	assert_string_equal(named_string(np, np->functions[line[1].function].file), "java/util/HashMap.java");
	l = &np->locations[at[1]];
	assert_int_equal(l->address, 0x1010);
	assert_string_equal(named_string(np, np->mappings[l->mapping].file), "/usr/lib/libjvm.so");
	assert_string_equal(named_string(np, np->mappings[l->mapping].build_id), "ab01");
	assert_string_equal(named_string(np, np->functions[np->lines[l->first_line].function].system_name),
			    "_ZN15G1CollectedHeap19do_collection_pauseEv");
	l = &np->locations[at[2]];
	assert_string_equal(named_string(np, np->mappings[l->mapping].file), "[interpreter]");
	assert_string_equal(named_string(np, np->functions[np->lines[l->first_line].function].file), "");
	/* No kernel addresses in files. */
	assert_int_equal(np->locations[at[3]].address, 0);
	named_profile_free(np);
	profile_free(p);
}

static void exactness_of_leaves_is_counted(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key leaf[] = {exact_key(FRAME_COMPILED, C_C2, 10)};
	struct frame_key fault[] = {key(FRAME_KERNEL, 0, -8), exact_key(FRAME_COMPILED, C_C2, 10)};
	struct frame_key call[] = {key(FRAME_COMPILED, C_C2, 10)};
	struct frame_key garbage[] = {exact_key(FRAME_COMPILED, C_C2, 30)};
	struct frame_key stub[] = {exact_key(FRAME_STUB, C_STUB, 64), key(FRAME_COMPILED, C_C2, 10)};
	struct frame_key wrapper[] = {exact_key(FRAME_COMPILED, C_NATIVE, 1)};
	struct named_profile *np;
	(void)state;

	add_stack(p, 1, leaf, 1);
	add_stack(p, 1, leaf, 1);
	add_stack(p, 1, fault, 2);
	add_stack(p, 1, call, 1);
	add_stack(p, 1, garbage, 1);
	add_stack(p, 1, stub, 2);
	add_stack(p, 1, wrapper, 1);
	np = name(p, all_sources(), (struct resolver_options){0});
	assert_int_equal(np->meta.exactness[EXACT], 1);
	assert_int_equal(np->meta.exactness[EXACT_FLOW], 3);
	assert_int_equal(np->meta.exactness[EXACT_INFERRED], 0);
	assert_int_equal(np->meta.exactness[EXACT_APPROXIMATE], 1);
	assert_int_equal(np->meta.no_record, 4);
	named_profile_free(np);
	profile_free(p);
}

static void check_depth(uint32_t depth, const char *want, uint64_t want_cut)
{
	/* Leaf first: a method with one inlined, a native frame, the same method again. */
	struct frame_key k[] = {key(FRAME_COMPILED, C_C2, 10), key(FRAME_NATIVE, 1, 0x1011),
				key(FRAME_COMPILED, C_C2, 10)};
	struct profile *p = profile_new((struct profile_options){.depth = depth, .threads = true});
	struct walk w = {.frames = k, .n = 3, .end = WALK_BAD_FRAME};
	uint64_t cut = 0;
	struct named_profile *np;

	profile_add_times(p, 4711, 1, THREAD_RUNNING, &w, 2, 20);
	profile_add_times(p, 4711, 2, THREAD_RUNNING, &w, 1, 10);
	np = name(p, all_sources(), (struct resolver_options){.depth = depth, .cut = &cut});
	check_folded(np, false, want);
	assert_int_equal(cut + profile_totals(p).truncated, want_cut);
	named_profile_free(np);
	profile_free(p);
}

static void depth_counts_inlined_frames(void **state)
{
#define METHOD "java/util/HashMap.put_[j];java/util/HashMap.hash_[i]"
#define NATIVE "G1CollectedHeap::do_collection_pause"
	(void)state;
	check_depth(5, "[incomplete];" METHOD ";" NATIVE ";" METHOD " 3\n", 0);
	/* The outer method's own line is beyond it, what it inlined is not. */
	check_depth(4, "[incomplete];[truncated];java/util/HashMap.hash_[i];" NATIVE ";" METHOD " 3\n", 3);
	check_depth(3, "[incomplete];[truncated];" NATIVE ";" METHOD " 3\n", 3);
	check_depth(2, "[incomplete];[truncated];" METHOD " 3\n", 3);
	check_depth(1, "[incomplete];[truncated];java/util/HashMap.hash_[i] 3\n", 3);
#undef METHOD
#undef NATIVE
}

/* Kernel frames without names are one frame, however many there are. */
static void depth_counts_hidden_kernel_frames_once(void **state)
{
	struct frame_key k[] = {key(FRAME_KERNEL, 0, -8), key(FRAME_KERNEL, 0, -16), key(FRAME_KERNEL, 0, -24),
				key(FRAME_NATIVE, 1, 0x1011), key(FRAME_NATIVE, 1, 0x2000)};
	struct profile *p = profile_new((struct profile_options){.depth = 2});
	struct named_profile *np;
	(void)state;

	add_stack(p, 1, k, 5);
	add_stack(p, 1, k, 4);
	np = name(p, all_sources(), (struct resolver_options){.depth = 2});
	check_folded(np, false,
		     "G1CollectedHeap::do_collection_pause;[kernel] 1\n"
		     "[truncated];G1CollectedHeap::do_collection_pause;[kernel] 1\n");
	named_profile_free(np);
	profile_free(p);
}

/* Tools show the first mapping's file as the program's. */
static void the_program_is_the_first_mapping(void **state)
{
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key k = key(FRAME_NATIVE, 1, 0x2000);
	struct resolver_sources s = all_sources();
	struct named_profile *np;
	(void)state;

	add_stack(p, 1, &k, 1);
	s.program = "/opt/lib;foo.so";
	np = name(p, s, (struct resolver_options){0});
	assert_int_equal(np->n_mappings, 4); /* none, the program, [kernel], libjvm.so */
	assert_string_equal(named_string(np, np->mappings[1].file), s.program);
	named_profile_free(np);
	s.program = "/usr/bin/elsewhere"; /* not among the mappings */
	np = name(p, s, (struct resolver_options){0});
	assert_string_equal(named_string(np, np->mappings[1].file), s.program);
	named_profile_free(np);
	profile_free(p);
}

static void the_limit_has_a_name(void **state)
{
	struct profile *p = profile_new((struct profile_options){.max_bytes = 1, .threads = true});
	struct frame_key k = key(FRAME_NATIVE, 1, 0x2000);
	struct named_profile *np;
	(void)state;

	add_stack(p, 1, &k, 1);
	add_stack(p, 2, &k, 1);
	np = name(p, all_sources(), (struct resolver_options){.show.thread_root = true});
	check_folded(np, false, "[storage limit] 2\n");
	named_profile_free(np);
	profile_free(p);
}

/* 100,000 distinct stacks of 60 frames: the bars for time and memory, all of it together. */
static void a_large_profile(void **state)
{
	enum { STACKS = 100000, DEPTH = 60, KEYS = 200000, SAMPLES = 1000000 };
	size_t before = heap_bytes(), counted, named;
	struct profile *p = profile_new((struct profile_options){0});
	struct frame_key k[DEPTH];
	struct named_profile *np;
	uint64_t start, resolved, written, samples = 0;
	FILE *null = fopen("/dev/null", "w");
	(void)state;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		for (uint32_t f = 0; f < DEPTH; f++) {
			uint32_t r = hash_u64((uint64_t)(i % STACKS) << 8 | f) % KEYS;

			k[f] = r % 3 ? key(FRAME_COMPILED, C_C2, r % 50 ? r : 10) :
				       key(FRAME_INTERPRETED, 1 + r % (METHODS - 1), r % 30000);
		}
		add_stack(p, 1, k, DEPTH);
	}
	counted = heap_bytes() - before;
	start = clock_process_cpu_ns();
	np = name(p, all_sources(), (struct resolver_options){0});
	resolved = clock_process_cpu_ns();
	assert_int_equal(writer_folded.write(np, &(struct writer_options){.annotate = true}, null, NULL), 0);
	written = clock_process_cpu_ns();
	named = heap_bytes() - before;
	print_message("%u stacks: %.1f MB as keys, %.1f MB with names; named in %.2f s, folded in "
		      "%.2f s\n",
		      np->n_stacks, counted / 1e6, named / 1e6, (resolved - start) / 1e9, (written - resolved) / 1e9);
	for (uint32_t i = 0; i < np->n_samples; i++)
		samples += np->samples[i].count;
	assert_int_equal(samples, SAMPLES);
	assert_true(named < 100000000); /* 0 under sanitizers */
	fclose(null);
	named_profile_free(np);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_every_kind),
		cmocka_unit_test(naming_that_is_ended),
		cmocka_unit_test(lines_take_limited_time),
		cmocka_unit_test(return_addresses_are_looked_up_before_the_call),
		cmocka_unit_test(readable_names_are_kept),
		cmocka_unit_test(kernel_and_perf_map),
		cmocka_unit_test(a_stack_with_roots),
		cmocka_unit_test(long_thread_names_keep_the_tid),
		cmocka_unit_test(details_of_lines),
		cmocka_unit_test(exactness_of_leaves_is_counted),
		cmocka_unit_test(depth_counts_inlined_frames),
		cmocka_unit_test(depth_counts_hidden_kernel_frames_once),
		cmocka_unit_test(the_program_is_the_first_mapping),
		cmocka_unit_test(the_limit_has_a_name),
		cmocka_unit_test(a_large_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
