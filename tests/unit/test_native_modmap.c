#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/dso_record.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

/* The module map of this very process. */
struct world {
	struct proc *proc;
	struct maps *maps;
	struct mem *mem;
	struct modmap *m;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(proc_open(getpid(), &w->proc, NULL), 0);
	assert_int_equal(maps_open(w->proc, NULL, &w->maps, NULL), 0);
	w->mem = mem_pages_new();
	assert_non_null(w->mem);
	assert_int_equal(modmap_open(w->proc, w->maps, w->mem, NULL, &w->m, NULL), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	modmap_close(w->m);
	mem_free(w->mem);
	maps_close(w->maps);
	proc_close(w->proc);
	free(w);
	return 0;
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void finds_a_function_of_libc(void **state)
{
	struct world *w = *state;
	/* By its handle: a sanitizer's qsort_r stands in front of it. */
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	uint64_t addr = address(dlsym(libc, "qsort_r")), bias;
	struct modmap_hit hit = modmap_find(w->m, addr + 1);
	struct dso_symbol s;
	uint32_t id;

	assert_int_equal(hit.kind, MODMAP_DSO);
	assert_non_null(hit.dso);
	assert_int_equal(dso_find_symbol(hit.dso, hit.vaddr, &s), 0);
	assert_string_equal(s.name, "qsort_r");
	assert_int_equal(hit.vaddr, s.vaddr + 1);
	assert_ptr_equal(modmap_dso(w->m, hit.dso_id), hit.dso);
	assert_non_null(strstr(modmap_dso_path(w->m, hit.dso_id), "libc"));
	assert_int_equal(modmap_find_dso(w->m, dso_name(hit.dso), &id, &bias), 0);
	assert_int_equal(id, hit.dso_id);
	assert_int_equal(bias, addr - s.vaddr);
	assert_int_equal(modmap_find_dso(w->m, "libnothing.so", &id, &bias), -ENOENT);
	dlclose(libc);
}

static void tells_code_from_other_memory(void **state)
{
	struct world *w = *state;
	void *jit = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("some jit", MFD_CLOEXEC), local;
	void *shared;

	assert_true(fd >= 0 && ftruncate(fd, 8192) == 0);
	shared = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(jit != MAP_FAILED && shared != MAP_FAILED);
	assert_int_equal(maps_refresh(w->maps), 0);
	assert_int_equal(modmap_find(w->m, address(jit) + 5000).kind, MODMAP_ANON);
	assert_int_equal(modmap_find(w->m, address(shared) + 5000).kind, MODMAP_ANON);
	assert_int_equal(modmap_find(w->m, address(&local)).kind, MODMAP_NONE);
	assert_int_equal(modmap_find(w->m, 0).kind, MODMAP_NONE);
	assert_int_equal(modmap_find(w->m, UINT64_MAX).kind, MODMAP_NONE);
	assert_int_equal(modmap_find(w->m, UINT64_C(0xffffffff81000000)).kind, MODMAP_NONE);
	assert_string_equal(modmap_dso_path(w->m, 0), "");
	assert_null(modmap_dso(w->m, 0));
	assert_null(modmap_dso(w->m, 12345));
	munmap(jit, 8192);
	munmap(shared, 8192);
	close(fd);
}

/* As a program maps its libraries when it starts: the maps are read anew for each, without a pause. */
static void finds_one_mapping_after_the_other(void **state)
{
	struct world *w = *state;
	void *at[8];

	for (int i = 0; i < 8; i++) {
		at[i] = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(at[i] != MAP_FAILED);
		assert_int_equal(modmap_find(w->m, address(at[i]) + 5000).kind, MODMAP_ANON);
	}
	for (int i = 0; i < 8; i++)
		munmap(at[i], 8192);
}

/* Addresses that are nowhere cost more than that only now and then. */
static void looks_in_vain_for_a_while_only(void **state)
{
	struct world *w = *state;
	uint64_t start = clock_thread_cpu_ns(), looks = 0, local;

	while (clock_thread_cpu_ns() - start < UINT64_C(2000000000) && looks < 200000)
		looks += modmap_find(w->m, address(&local)).kind == MODMAP_NONE;
	assert_int_equal(looks, 200000);
}

static void vdso_is_read_from_memory(void **state)
{
	struct world *w = *state;
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct modmap_hit hit;
	struct dso_symbol s;
	uint64_t v, size;

	if (!base)
		skip();
	mem_pages_add(w->mem, base, (void *)(uintptr_t)base, 8192);
	hit = modmap_find(w->m, base + 0x100);
	assert_int_equal(hit.kind, MODMAP_DSO);
	assert_non_null(hit.dso);
	assert_int_equal(dso_find_by_name(hit.dso, "__vdso_gettimeofday", &v, &size), 0);
	hit = modmap_find(w->m, base + v);
	assert_int_equal(hit.vaddr, v);
	assert_int_equal(dso_find_symbol(hit.dso, v, &s), 0);
}

static void copy_sample(char *path)
{
	char command[512];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cp %s/full_none.so %s", SAMPLES, path);
	assert_int_equal(system(command), 0);
}

static void libraries_come_and_go(void **state)
{
	struct world *w = *state;
	char path[] = "/tmp/js_native_XXXXXX", other[] = "/tmp/js_native_XXXXXX";
	void *lib;
	uint64_t entry;
	struct modmap_hit hit, again;
	struct dso_symbol s;

	assert_int_equal(modmap_find(w->m, address(getpid)).kind, MODMAP_DSO); /* maps are read */
	copy_sample(path);
	copy_sample(other);
	lib = dlopen(path, RTLD_NOW);
	assert_non_null(lib);
	entry = address(dlsym(lib, "sample_entry"));
	hit = modmap_find(w->m, entry); /* a miss: reads the maps again */
	assert_int_equal(hit.kind, MODMAP_DSO);
	assert_int_equal(dso_find_symbol(hit.dso, hit.vaddr, &s), 0);
	assert_string_equal(s.name, "sample_entry");
	/* Replaced on disk: what is mapped is still the old file. */
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(maps_refresh(w->maps), 0);
	again = modmap_find(w->m, entry);
	assert_int_equal(again.dso_id, hit.dso_id);
	dlclose(lib);
	assert_int_equal(maps_refresh(w->maps), 0);
	assert_int_not_equal(modmap_find(w->m, entry).dso_id, hit.dso_id);
	assert_ptr_equal(modmap_dso(w->m, hit.dso_id), hit.dso); /* its id is good for ever */
	assert_string_equal(modmap_dso_path(w->m, hit.dso_id), path);
	/* The new file under the old name is another module. */
	lib = dlopen(path, RTLD_NOW);
	assert_non_null(lib);
	assert_int_equal(maps_refresh(w->maps), 0);
	again = modmap_find(w->m, address(dlsym(lib, "sample_entry")));
	assert_int_equal(again.kind, MODMAP_DSO);
	assert_int_not_equal(again.dso_id, hit.dso_id);
	assert_true(again.dso_id <= modmap_dso_count(w->m));
	dlclose(lib);
	unlink(path);
}

static void deleted_before_it_was_looked_at(void **state)
{
	struct world *w = *state;
	char path[] = "/tmp/js_native_XXXXXX";
	void *lib;
	struct modmap_hit hit;

	copy_sample(path);
	lib = dlopen(path, RTLD_NOW);
	assert_non_null(lib);
	unlink(path);
	assert_int_equal(maps_refresh(w->maps), 0);
	hit = modmap_find(w->m, address(dlsym(lib, "sample_entry")));
	assert_int_equal(hit.kind, MODMAP_DSO);
	assert_string_equal(modmap_dso_path(w->m, hit.dso_id), path);
	/* /proc/PID/map_files needs a capability; without it the name has to do. */
	if (geteuid() == 0)
		assert_non_null(hit.dso);
	dlclose(lib);
}

static const char replay_maps[] = "5500000000-5500001000 r-xp 00000000 08:01 11 /usr/bin/java\n"
				  "7f0000000000-7f0000001000 r--p 00000000 08:01 22 /lib/libx.so (deleted)\n"
				  "7f0000001000-7f0000003000 r-xp 00001000 08:01 22 /lib/libx.so (deleted)\n"
				  "7f0000003000-7f0000004000 rw-p 00003000 08:01 22 /lib/libx.so (deleted)\n"
				  "7f0000010000-7f0000020000 rwxp 00000000 00:00 0\n"
				  "7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]\n";

static void replay_needs_no_files(void **state)
{
	static const struct dso_segment segs[] = {{0x1000, 0x401000, 0x1800, 0x1800, 5}};
	static const struct dso_symbol symbols[] = {{"recorded", 0x401100, 0x10}};
	struct cfi_row row = {.cfa_reg = X86_RSP, .cfa_off = 8};
	const struct dso_record_row rows[] = {{0x401104, &row}};
	struct dso_record rec = {
		.segments = segs, .n_segments = 1, .symbols = symbols, .n_symbols = 1, .rows = rows, .n_rows = 1};
	const struct cfi_row *found;
	struct mem *mem = mem_pages_new();
	struct modmap_hit hit;
	struct dso_symbol s;
	struct modmap *m;
	struct maps *maps;
	uint64_t bias;
	uint32_t id;

	(void)state;
	row.rule[X86_RIP] = (struct cfi_rule){CFI_OFFSET, -8};
	assert_int_equal(maps_parse(replay_maps, strlen(replay_maps), &maps), 0);
	assert_int_equal(modmap_open(NULL, maps, mem, NULL, &m, NULL), 0);
	assert_int_equal(modmap_add_record(m, "/lib/libx.so", &rec), 0);
	assert_int_equal(modmap_add_record(m, "/lib/never_mapped.so", &rec), 0);
	hit = modmap_find(m, 0x7f0000001104);
	assert_int_equal(hit.kind, MODMAP_DSO);
	assert_int_equal(hit.vaddr, 0x401104);
	assert_int_equal(dso_find_symbol(hit.dso, hit.vaddr, &s), 0);
	assert_string_equal(s.name, "recorded");
	assert_int_equal(dso_cfi_row(hit.dso, hit.vaddr, &found), 0);
	assert_int_equal(found->cfa_off, 8);
	assert_int_equal(dso_cfi_row(hit.dso, hit.vaddr + 1, &found), -ENOENT);
	assert_int_equal(modmap_find_dso(m, "libx.so", &id, &bias), 0);
	assert_int_equal(bias, 0x7f0000001000 - 0x401000);
	assert_int_equal(modmap_find(m, 0x7f0000003000).kind, MODMAP_NONE); /* data */
	assert_int_equal(modmap_find(m, 0x7f0000010001).kind, MODMAP_ANON);
	hit = modmap_find(m, 0x5500000010); /* no facts: its name and offset are left */
	assert_int_equal(hit.kind, MODMAP_DSO);
	assert_null(hit.dso);
	assert_int_equal(hit.vaddr, 0x10);
	assert_string_equal(modmap_dso_path(m, hit.dso_id), "/usr/bin/java");
	hit = modmap_find(m, 0x7fff00000010);
	assert_null(hit.dso);
	modmap_close(m);
	maps_close(maps);
	mem_free(mem);
}

static unsigned noted;

static void note_row(void *ctx, struct dso *d, uint64_t vaddr, const struct cfi_row *row)
{
	(void)ctx, (void)d, (void)vaddr, (void)row;
	noted++;
}

static void tap_hears_of_all_dsos(void **state)
{
	static const struct dso_tap tap = {.row = note_row};
	struct world *w = *state;
	struct modmap_hit hit = modmap_find(w->m, address(getpid));
	const struct cfi_row *row;

	modmap_set_tap(w->m, &tap);
	assert_int_equal(dso_cfi_row(hit.dso, hit.vaddr, &row), 0);
	hit = modmap_find(w->m, address(clock_monotonic_ns)); /* opened after the tap was set */
	assert_int_equal(dso_cfi_row(hit.dso, hit.vaddr, &row), 0);
	assert_int_equal(dso_cfi_row(hit.dso, hit.vaddr, &row), 0);
	assert_int_equal(noted, 3);
	modmap_set_tap(w->m, NULL);
	assert_int_equal(dso_cfi_row(hit.dso, hit.vaddr, &row), 0);
	assert_int_equal(noted, 3);
}

/* Maps of a hostile size: every one of 60,000 mappings another file. */
static void many_modules(void **state)
{
	enum { N = 60000 };
	size_t cap = (size_t)N * 80, len = 0;
	char *text = malloc(cap);
	struct modmap *m;
	struct maps *maps;
	uint64_t start, i, took;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < N; i++)
		len += (size_t)snprintf(text + len, cap - len, "%lx-%lx r-xp 00000000 08:01 %lu /lib/%lx.so\n",
					(unsigned long)(0x10000000 + i * 0x2000),
					(unsigned long)(0x10001000 + i * 0x2000), (unsigned long)i + 1,
					(unsigned long)i);
	assert_int_equal(maps_parse(text, len, &maps), 0);
	assert_int_equal(modmap_open(NULL, maps, NULL, NULL, &m, NULL), 0);
	start = clock_thread_cpu_ns();
	for (i = 0; i < N; i++)
		assert_int_equal(modmap_find(m, 0x10000000 + i * 0x2000).dso_id, i + 1);
	took = clock_thread_cpu_ns() - start;
	assert_true(took < UINT64_C(2000000000));
	for (i = 0; i < 200000; i++)
		modmap_find(m, hash_u64(i) % 0x80000000);
	modmap_close(m);
	maps_close(maps);
	free(text);
}

static void find_is_quick(void **state)
{
	enum { N = 1000000 };
	struct world *w = *state;
	uint64_t a = address(getpid), b = address(clock_monotonic_ns), start, same, mixed;
	unsigned i, hits = 0;

	modmap_find(w->m, a);
	modmap_find(w->m, b);
	start = clock_thread_cpu_ns();
	for (i = 0; i < N; i++)
		hits += modmap_find(w->m, a + i % 16).kind == MODMAP_DSO;
	same = clock_thread_cpu_ns() - start;
	start = clock_thread_cpu_ns();
	for (i = 0; i < N; i++)
		hits += modmap_find(w->m, i % 2 ? a : b).kind == MODMAP_DSO;
	mixed = clock_thread_cpu_ns() - start;
	assert_int_equal(hits, 2 * N);
	print_message("modmap_find: %.1f ns in the same mapping, %.1f ns elsewhere\n", (double)same / N,
		      (double)mixed / N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_a_function_of_libc, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_code_from_other_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(finds_one_mapping_after_the_other, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_in_vain_for_a_while_only, setup, teardown),
		cmocka_unit_test_setup_teardown(vdso_is_read_from_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(libraries_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted_before_it_was_looked_at, setup, teardown),
		cmocka_unit_test(replay_needs_no_files),
		cmocka_unit_test_setup_teardown(tap_hears_of_all_dsos, setup, teardown),
		cmocka_unit_test(many_modules),
		cmocka_unit_test_setup_teardown(find_is_quick, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
