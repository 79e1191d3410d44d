#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/cfi/cfi_expr.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

/*
 * Rows against an oracle: libunwind's remote interface steps the same synthetic frame. The image is
 * "loaded" at BIAS; every other address reads as a hash of itself, so any two ways of computing a
 * register that differ give different values.
 */
#define BIAS UINT64_C(0x7f1200000000)
#define STACK UINT64_C(0x7ffc00001000)
enum { STACK_WORDS = 8192 };

/* In libunwind's internal headers only, but exported for users with a table of their own. */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
				       int need_unwind_info, void *arg);

struct world {
	struct mem mem; /* our view */
	uint8_t *image; /* the PT_LOADs, from vaddr 0 */
	uint64_t size;
	unw_dyn_info_t table;
	unw_addr_space_t space;
	struct regs regs; /* of the frame to step */
	uint64_t first, last; /* code covered by FDEs */
	VEC(uint64_t) starts;
	uint64_t stack[STACK_WORDS]; /* the filler, ready, so that reading costs what it costs */
};

static uint64_t filler(uint64_t addr)
{
	/* Looks like a user address, so that nobody dislikes it. */
	return (hash_u64(addr) & UINT64_C(0x3ffffffffff8)) | UINT64_C(0x400000000000);
}

static size_t world_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	struct world *w = (struct world *)m;
	uint8_t *p = dst;
	size_t i;

	if (addr >= BIAS && addr < BIAS + w->size && len <= BIAS + w->size - addr) {
		memcpy(dst, w->image + (addr - BIAS), len);
		return len;
	}
	if (addr >= STACK && addr - STACK < sizeof(w->stack) - len) {
		memcpy(dst, (const uint8_t *)w->stack + (addr - STACK), len);
		return len;
	}
	for (i = 0; i < len; i++) {
		uint64_t word = filler((addr + i) & ~UINT64_C(7));

		p[i] = (uint8_t)(word >> (addr + i) % 8 * 8);
	}
	return len;
}

static const struct mem_ops world_ops = {.read = world_read};

static int uw_find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	struct world *w = arg;

	if (ip < w->table.start_ip || ip >= w->table.end_ip)
		return -UNW_ENOINFO;
	return _Ux86_64_dwarf_search_unwind_table(as, ip, &w->table, pi, need, arg);
}

static void uw_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)pi, (void)arg;
}

static int uw_dyn_list(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void)as, (void)ret, (void)arg;
	return -UNW_ENOINFO;
}

static int uw_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write, void *arg)
{
	(void)as;
	if (write)
		return -UNW_EINVAL;
	world_read(arg, addr, val, sizeof(*val));
	return 0;
}

static int uw_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int write, void *arg)
{
	struct world *w = arg;

	(void)as;
	if (write || reg < 0 || reg >= X86_REGS)
		return -UNW_EBADREG;
	*val = w->regs.r[reg];
	return 0;
}

static int uw_access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int write, void *arg)
{
	(void)as, (void)reg, (void)val, (void)write, (void)arg;
	return -UNW_EBADREG;
}

static int uw_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	(void)as, (void)c, (void)arg;
	return -UNW_EINVAL;
}

static int uw_proc_name(unw_addr_space_t as, unw_word_t addr, char *buf, size_t len, unw_word_t *off, void *arg)
{
	(void)as, (void)addr, (void)buf, (void)len, (void)off, (void)arg;
	return -UNW_ENOINFO;
}

static uint8_t *read_whole(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;
	size_t off = 0;

	if (fd < 0)
		return NULL;
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	while (off < (size_t)st.st_size) {
		ssize_t n = pread(fd, bytes + off, (size_t)st.st_size - off, (off_t)off);

		assert_true(n > 0);
		off += (size_t)n;
	}
	close(fd);
	*len = off;
	return bytes;
}

static void load_image(struct world *w, const uint8_t *file, size_t len)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	unsigned i;

	memcpy(&eh, file, sizeof(eh));
	for (i = 0; i < eh.e_phnum; i++) {
		memcpy(&ph, file + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD && ph.p_vaddr + ph.p_memsz > w->size)
			w->size = ph.p_vaddr + ph.p_memsz;
	}
	w->image = calloc(1, w->size);
	assert_non_null(w->image);
	for (i = 0; i < eh.e_phnum; i++) {
		memcpy(&ph, file + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD) {
			assert_true(ph.p_offset + ph.p_filesz <= len);
			memcpy(w->image + ph.p_vaddr, file + ph.p_offset, ph.p_filesz);
		}
	}
}

/* .eh_frame_hdr: version, three encodings, eh_frame_ptr, fde_count, then pairs relative to it. */
static void load_table(struct world *w, const uint8_t *file)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph = {0};
	uint32_t count, i;

	memcpy(&eh, file, sizeof(eh));
	for (i = 0; i < eh.e_phnum && ph.p_type != PT_GNU_EH_FRAME; i++)
		memcpy(&ph, file + eh.e_phoff + i * sizeof(ph), sizeof(ph));
	assert_int_equal(ph.p_type, PT_GNU_EH_FRAME);
	assert_int_equal(w->image[ph.p_vaddr], 1);
	assert_int_equal(w->image[ph.p_vaddr + 2], 0x03); /* udata4 */
	assert_int_equal(w->image[ph.p_vaddr + 3], 0x3b); /* datarel sdata4 */
	memcpy(&count, w->image + ph.p_vaddr + 8, 4);
	for (i = 0; i < count; i++) {
		int32_t rel;

		memcpy(&rel, w->image + ph.p_vaddr + 12 + 8 * (size_t)i, 4);
		assert_true(vec_push(&w->starts, ph.p_vaddr + (uint64_t)(int64_t)rel));
	}
	w->first = w->starts.v[0];
	w->last = w->starts.v[count - 1] + 64;
	w->table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	w->table.start_ip = BIAS;
	w->table.end_ip = BIAS + w->size;
	w->table.u.rti.segbase = BIAS + ph.p_vaddr;
	w->table.u.rti.table_data = BIAS + ph.p_vaddr + 12;
	w->table.u.rti.table_len = (uint64_t)count * 8 / sizeof(unw_word_t);
}

static struct world *world_open(const char *path)
{
	static unw_accessors_t accessors = {uw_find_proc_info, uw_put_unwind_info, uw_dyn_list, uw_access_mem,
					    uw_access_reg,     uw_access_fpreg,    uw_resume,   uw_proc_name};
	struct world *w;
	size_t len, i;
	uint8_t *file = read_whole(path, &len);

	if (!file)
		return NULL;
	w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->mem.ops = &world_ops;
	for (i = 0; i < STACK_WORDS; i++)
		w->stack[i] = filler(STACK + i * 8);
	load_image(w, file, len);
	load_table(w, file);
	free(file);
	w->space = unw_create_addr_space(&accessors, 0);
	assert_non_null(w->space);
	unw_set_caching_policy(w->space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(w->space, 1 << 15, 0);
	return w;
}

static void world_close(struct world *w)
{
	unw_destroy_addr_space(w->space);
	vec_done(&w->starts);
	free(w->image);
	free(w);
}

static void set_regs(struct world *w, uint64_t pc)
{
	unsigned i;

	for (i = 0; i < X86_REGS; i++)
		regs_set(&w->regs, i, filler(pc * 64 + i));
	regs_set(&w->regs, X86_RSP, STACK);
	regs_set(&w->regs, X86_RBP, STACK + 0x100);
	regs_set(&w->regs, X86_RIP, pc);
}

struct tally {
	unsigned compared, agreed, roots, none, differ;
};

/*
 * What a row must never get wrong: these are what a walk goes on with. sp where the row has a rule
 * for it is left out: libunwind takes the CFA all the same, which in __longjmp is not where sp will be.
 */
static const unsigned checked[] = {X86_RBX, X86_RBP, X86_RSP, X86_R12, X86_R13, X86_R14, X86_R15, X86_RIP};

/*
 * Between `pop` and `ret` the rule still names the slot, now below sp. libunwind reads it from there;
 * it is not in a stack copy, and the register has the value again.
 */
static bool is_popped(const struct cfi_row *row, const struct regs *before, unsigned reg)
{
	uint64_t cfa = before->r[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_off;

	return !row->cfa_is_expr && row->rule[reg].kind == CFI_OFFSET && reg != X86_RIP &&
	       cfa + (uint64_t)(int64_t)row->rule[reg].value < before->r[X86_RSP];
}

static bool same_registers(const struct cfi_row *row, const struct regs *before, const struct regs *ours,
			   unw_cursor_t *theirs, bool tell)
{
	bool same = true;
	size_t i;

	for (i = 0; i < sizeof(checked) / sizeof(checked[0]); i++) {
		unw_word_t v;

		if (checked[i] == X86_RSP &&
		    (row->rule[X86_RSP].kind == CFI_REGISTER || row->rule[X86_RSP].kind == CFI_OFFSET))
			continue;
		if (is_popped(row, before, checked[i]) && ours->r[checked[i]] == before->r[checked[i]])
			continue;
		if (unw_get_reg(theirs, (unw_regnum_t)checked[i], &v) == 0 && regs_known(ours, checked[i]) &&
		    ours->r[checked[i]] == v)
			continue;
		same = false;
		if (tell)
			print_message("  register %u: ours %#lx%s, libunwind %#lx\n", checked[i],
				      (unsigned long)ours->r[checked[i]],
				      regs_known(ours, checked[i]) ? "" : " (unknown)", (unsigned long)v);
	}
	return same;
}

static void compare(struct world *w, struct dso *d, uint64_t vaddr, struct tally *t)
{
	const struct cfi_row *row;
	unw_proc_info_t pi;
	unw_cursor_t c;
	struct regs ours;
	enum cfi_step step;
	int have = uw_find_proc_info(w->space, BIAS + vaddr, &pi, 0, w), theirs;

	if (dso_cfi_row(d, vaddr, &row) < 0) {
		t->none++;
		t->differ += have >= 0;
		return;
	}
	set_regs(w, BIAS + vaddr);
	ours = w->regs;
	step = cfi_row_apply(row, &arch_x86_64, &w->mem, &ours);
	assert_int_equal(unw_init_remote(&c, w->space, w), 0);
	theirs = unw_step(&c);
	t->compared++;
	if (step == CFI_STEP_ROOT && theirs == 0) {
		t->roots++;
		t->agreed++;
	} else if (step == CFI_STEP_OK && theirs > 0 && have >= 0 && same_registers(row, &w->regs, &ours, &c, false)) {
		t->agreed++;
	} else {
		if (t->differ++ >= 10)
			return;
		print_message("differs at %#lx: ours %d, libunwind %d (find %d)\n", (unsigned long)vaddr, step, theirs,
			      have);
		same_registers(row, &w->regs, &ours, &c, true);
	}
}

static uint64_t random_pc(struct world *w, unsigned i)
{
	return w->first + hash_u64(i * 7919u + 1) % (w->last - w->first);
}

enum { PLACES = 256, ROUNDS = 200 };

static double time_libunwind(struct world *w, const struct regs *frames)
{
	uint64_t start = 0;
	unw_cursor_t c;
	unsigned i, r;

	for (r = 0; r <= ROUNDS; r++) { /* the first round fills its cache */
		if (r == 1)
			start = clock_thread_cpu_ns();
		for (i = 0; i < PLACES; i++) {
			w->regs = frames[i];
			unw_init_remote(&c, w->space, w);
			unw_step(&c);
		}
	}
	return (double)(clock_thread_cpu_ns() - start) / (ROUNDS * PLACES);
}

static double time_rows(struct world *w, struct dso *d, const struct regs *frames)
{
	uint64_t start = clock_thread_cpu_ns();
	const struct cfi_row *row;
	unsigned i, r;

	for (r = 0; r < ROUNDS; r++)
		for (i = 0; i < PLACES; i++) {
			w->regs = frames[i];
			if (dso_cfi_row(d, frames[i].r[X86_RIP] - BIAS, &row) == 0)
				cfi_row_apply(row, &arch_x86_64, &w->mem, &w->regs);
		}
	return (double)(clock_thread_cpu_ns() - start) / (ROUNDS * PLACES);
}

/* Nanoseconds of a step at 256 places, all of them seen before. */
static void benchmark(struct world *w, struct dso *d, double *ours, double *theirs)
{
	const struct cfi_row *row;
	static struct regs frames[PLACES];
	unsigned n = 0, i;

	for (i = 0; n < PLACES && i < 100000; i++)
		if (dso_cfi_row(d, random_pc(w, i), &row) == 0) {
			set_regs(w, BIAS + random_pc(w, i));
			frames[n++] = w->regs;
		}
	assert_int_equal(n, PLACES);
	*theirs = time_libunwind(w, frames);
	*ours = time_rows(w, d, frames);
}

static double cold_us(struct world *w, struct dso *d)
{
	const struct cfi_row *row;
	uint64_t start = clock_thread_cpu_ns();
	unsigned i;

	for (i = 0; i < 5000; i++)
		dso_cfi_row(d, random_pc(w, 1000000 + i), &row);
	return (double)(clock_thread_cpu_ns() - start) / 5000 / 1000;
}

static void compare_file(const char *path, unsigned n_random, bool bench)
{
	struct world *w = world_open(path);
	const struct cfi_row *row;
	struct tally t = {0};
	struct dso *d = NULL;
	double ours = 0, theirs = 0, cold, open_ms;
	uint64_t start;
	size_t i;

	if (!w) {
		print_message("%s: not on this machine\n", path);
		return;
	}
	start = clock_thread_cpu_ns();
	assert_int_equal(dso_open_fd(open(path, O_RDONLY | O_CLOEXEC), path, NULL, &d, NULL), 0);
	assert_int_equal(dso_cfi_row(d, w->starts.v[w->starts.n / 2], &row), 0);
	open_ms = (double)(clock_thread_cpu_ns() - start) / 1e6;
	for (i = 0; i < w->starts.n; i++)
		compare(w, d, w->starts.v[i], &t);
	for (i = 0; i < n_random; i++)
		compare(w, d, random_pc(w, (unsigned)i), &t);
	print_message("%s: %zu FDEs, %u steps compared, %u agree (%u of them roots), %u without rows, "
		      "%u differ; open and first row %.2f ms\n",
		      path, w->starts.n, t.compared, t.agreed, t.roots, t.none, t.differ, open_ms);
	assert_int_equal(t.differ, 0);
	assert_true(t.compared > w->starts.n);
	if (bench) {
		cold = cold_us(w, d);
		benchmark(w, d, &ours, &theirs);
		print_message("a step with everything cached, ns: libunwind remote %.0f, rows %.0f; "
			      "a row for the first time %.2f us\n",
			      theirs, ours, cold);
		assert_true(ours < theirs);
	}
	dso_close(d);
	world_close(w);
}

static void rows_agree_with_libunwind_libc(void **state)
{
	(void)state;
	compare_file("/lib/x86_64-linux-gnu/libc.so.6", 20000, true);
}

static void rows_agree_with_libunwind_libjvm(void **state)
{
	(void)state;
	compare_file("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", 20000, true);
}

static void rows_agree_with_libunwind_libjava(void **state)
{
	(void)state;
	compare_file("/usr/lib/jvm/java-17-openjdk-amd64/lib/libjava.so", 20000, false);
}

static struct cfi_row prologue_row(void)
{
	struct cfi_row row = {.cfa_reg = X86_RSP, .cfa_off = 16};
	unsigned i;

	for (i = 0; i < X86_REGS; i++)
		row.rule[i].kind = arch_x86_64.callee_saved >> i & 1 ? CFI_SAME : CFI_UNDEFINED;
	row.rule[X86_RBP] = (struct cfi_rule){CFI_OFFSET, -16};
	row.rule[X86_RIP] = (struct cfi_rule){CFI_OFFSET, -8};
	return row;
}

static void apply_computes_the_caller(void **state)
{
	uint64_t stack[2] = {0x1111, 0x2222};
	struct cfi_row row = prologue_row();
	struct mem_stack mem;
	struct regs regs = {0};

	(void)state;
	assert_int_equal(cfi_row_seal(&row), 0);
	mem_stack_init(&mem, NULL, 0x1000, stack, sizeof(stack));
	regs_set(&regs, X86_RSP, 0x1000);
	regs_set(&regs, X86_RBX, 77);
	regs_set(&regs, X86_RAX, 88);
	assert_int_equal(cfi_row_apply(&row, &arch_x86_64, &mem.mem, &regs), CFI_STEP_OK);
	assert_int_equal(regs.r[X86_RIP], 0x2222);
	assert_int_equal(regs.r[X86_RBP], 0x1111);
	assert_int_equal(regs.r[X86_RSP], 0x1010);
	assert_true(regs_known(&regs, X86_RBX) && regs.r[X86_RBX] == 77);
	assert_false(regs_known(&regs, X86_RAX)); /* a call may have changed it */
	assert_false(regs_known(&regs, X86_R12)); /* was not known before */
}

/* At `ret`, behind `pop rbp`: GCC restates the CFA but not the rule, whose slot is now below sp. */
static void apply_keeps_what_was_popped(void **state)
{
	uint64_t stack[2] = {0xdead, 0x2222};
	struct cfi_row row = prologue_row();
	struct mem_stack mem;
	struct regs regs = {0};

	(void)state;
	row.cfa_off = 8;
	assert_int_equal(cfi_row_seal(&row), 0);
	mem_stack_init(&mem, NULL, 0x0ff8, stack, sizeof(stack));
	regs_set(&regs, X86_RSP, 0x1000);
	regs_set(&regs, X86_RBP, 0x1111);
	assert_int_equal(cfi_row_apply(&row, &arch_x86_64, &mem.mem, &regs), CFI_STEP_OK);
	assert_int_equal(regs.r[X86_RIP], 0x2222);
	assert_true(regs_known(&regs, X86_RBP) && regs.r[X86_RBP] == 0x1111);
}

static void apply_refuses_without_touching(void **state)
{
	uint64_t stack[2] = {0x1111, 0x2222};
	struct cfi_row row = prologue_row();
	struct mem_stack mem;
	struct regs regs = {0}, before;

	(void)state;
	assert_int_equal(cfi_row_seal(&row), 0);
	mem_stack_init(&mem, NULL, 0x1000, stack, sizeof(stack));
	before = regs;
	assert_int_equal(cfi_row_apply(&row, &arch_x86_64, &mem.mem, &regs), CFI_STEP_BAD_ROW);
	assert_memory_equal(&regs, &before, sizeof(regs));
	regs_set(&regs, X86_RSP, 0x5000);
	before = regs;
	assert_int_equal(cfi_row_apply(&row, &arch_x86_64, &mem.mem, &regs), CFI_STEP_BAD_MEMORY);
	assert_memory_equal(&regs, &before, sizeof(regs));
	row.rule[X86_RIP].kind = CFI_UNDEFINED;
	assert_int_equal(cfi_row_apply(&row, &arch_x86_64, &mem.mem, &regs), CFI_STEP_ROOT);
	assert_memory_equal(&regs, &before, sizeof(regs));
}

static void seal_refuses_nonsense(void **state)
{
	struct cfi_row row = prologue_row();
	struct cfi_exprs exprs = {.n = 1, .n_ops = 1, .start = {1}, .len = {1}};

	(void)state;
	row.cfa_reg = 40;
	assert_int_equal(cfi_row_seal(&row), -EINVAL);
	row = prologue_row();
	row.rule[X86_RBX] = (struct cfi_rule){CFI_REGISTER, 17};
	assert_int_equal(cfi_row_seal(&row), -EINVAL);
	row.rule[X86_RBX] = (struct cfi_rule){CFI_EXPR, 0};
	assert_int_equal(cfi_row_seal(&row), -EINVAL);
	row.exprs = &exprs; /* its only expression lies behind the operations */
	assert_int_equal(cfi_row_seal(&row), -EINVAL);
	exprs.start[0] = 0;
	assert_int_equal(cfi_row_seal(&row), 0);
	row.rule[X86_RBX].kind = 99;
	assert_int_equal(cfi_row_seal(&row), -EINVAL);
}

static enum cfi_step eval(const struct cfi_op *ops, uint16_t n, uint64_t *ret)
{
	static const uint64_t words[4] = {0x10, 0x2000, 0x30, 0x40};
	struct cfi_exprs e = {.n = 1, .n_ops = n, .start = {0}, .len = {n}};
	uint64_t cfa = 0x9000;
	struct regs regs = {0};
	struct mem_stack mem;
	struct cfi_expr_input in = {&regs, &mem.mem, &cfa};

	memcpy(e.op, ops, n * sizeof(*ops));
	mem_stack_init(&mem, NULL, 0x1000, words, sizeof(words));
	regs_set(&regs, X86_RSP, 0x1000);
	return cfi_expr_eval(&e, 0, &in, ret);
}

static void expressions_compute(void **state)
{
	static const struct cfi_op deref[] = {{DW_OP_breg7, 8}, {DW_OP_deref, 0}, {DW_OP_consts, 4}, {DW_OP_minus, 0}};
	/* The PLT's: rsp + 8 + ((rip & 15) >= 11) * 8, with a constant for rip. */
	static const struct cfi_op plt[] = {{DW_OP_breg7, 8},  {DW_OP_consts, 0x102c}, {DW_OP_consts, 15},
					    {DW_OP_and, 0},    {DW_OP_consts, 11},     {DW_OP_ge, 0},
					    {DW_OP_consts, 3}, {DW_OP_shl, 0},         {DW_OP_plus, 0}};
	static const struct cfi_op branch[] = {
		{DW_OP_consts, 5}, {DW_OP_consts, 1}, {DW_OP_bra, 4}, {DW_OP_drop, 0}, {DW_OP_nop, 0}};
	static const struct cfi_op stack[] = {{DW_OP_consts, 1}, {DW_OP_consts, 2}, {DW_OP_consts, 3}, {DW_OP_rot, 0},
					      {DW_OP_drop, 0},   {DW_OP_swap, 0},   {DW_OP_minus, 0}};
	uint64_t v;

	(void)state;
	assert_int_equal(eval(deref, 4, &v), CFI_STEP_OK);
	assert_int_equal(v, 0x1ffc);
	assert_int_equal(eval(plt, 9, &v), CFI_STEP_OK);
	assert_int_equal(v, 0x1010);
	assert_int_equal(eval(branch, 5, &v), CFI_STEP_OK);
	assert_int_equal(v, 5);
	assert_int_equal(eval(stack, 7, &v), CFI_STEP_OK); /* 1 2 3 -> 3 1 2 -> 3 1 -> 1 3 -> -2 */
	assert_int_equal((int64_t)v, -2);
}

static void expressions_are_bounded(void **state)
{
	static const struct cfi_op loop[] = {{DW_OP_skip, 0}};
	static const struct cfi_op grow[] = {{DW_OP_consts, 1}, {DW_OP_skip, 0}};
	static const struct cfi_op underflow[] = {{DW_OP_plus, 0}};
	static const struct cfi_op far_away[] = {{DW_OP_consts, 1}, {DW_OP_skip, 99}};
	static const struct cfi_op unknown_reg[] = {{DW_OP_breg0 + 3, 0}};
	static const struct cfi_op zero_div[] = {{DW_OP_consts, 1}, {DW_OP_consts, 0}, {DW_OP_div, 0}};
	static const struct cfi_op odd[] = {{DW_OP_consts, 1}, {DW_OP_entry_value, 0}};
	static const struct cfi_op nowhere[] = {{DW_OP_consts, 0x8000}, {DW_OP_deref, 0}};
	uint64_t v;

	(void)state;
	assert_int_equal(eval(loop, 1, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(grow, 2, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(underflow, 1, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(far_away, 2, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(unknown_reg, 1, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(zero_div, 3, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(odd, 2, &v), CFI_STEP_BAD_ROW);
	assert_int_equal(eval(nowhere, 2, &v), CFI_STEP_BAD_MEMORY);
	assert_int_equal(eval(loop, 0, &v), CFI_STEP_BAD_ROW);
}

static struct dso *open_libc(uint64_t *base)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct dso *d;
	Dl_info info;

	assert_int_not_equal(dladdr(dlsym(libc, "fopen"), &info), 0);
	dlclose(libc);
	*base = (uint64_t)(uintptr_t)info.dli_fbase;
	assert_int_equal(dso_open_fd(open(info.dli_fname, O_RDONLY | O_CLOEXEC), info.dli_fname, NULL, &d, NULL), 0);
	return d;
}

/* In clone(), which is exported, the child has no caller behind the system call. */
static void glibc_marks_its_outermost_functions(void **state)
{
	const struct cfi_row *row;
	uint64_t v, size, base;
	unsigned roots = 0;
	struct dso *d = open_libc(&base);

	(void)state;
	assert_int_equal(dso_find_by_name(d, "clone", &v, &size), 0);
	for (; size; size--, v++)
		if (dso_cfi_row(d, v, &row) == 0)
			roots += row->rule[X86_RIP].kind == CFI_UNDEFINED;
	assert_true(roots >= 10);
	dso_close(d);
}

static void ignore_signal(int sig)
{
	(void)sig;
}

/* sigaction(2), "struct kernel_sigaction": the trampoline is passed to the kernel. */
static uint64_t restorer_address(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		uint64_t restorer;
		unsigned long mask;
	} old;

	signal(SIGUSR2, ignore_signal);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR2, NULL, &old, sizeof(old.mask)), 0);
	return old.restorer;
}

/* The row of __restore_rt on a frame as the kernel builds it: a ucontext_t at sp. */
static void signal_trampoline_gives_the_interrupted_registers(void **state)
{
	struct regs regs = {0};
	const struct cfi_row *row;
	struct mem_stack mem;
	ucontext_t uc = {0};
	uint64_t base;
	struct dso *d = open_libc(&base);
	unsigned i;

	(void)state;
	for (i = 0; i < NGREG; i++)
		uc.uc_mcontext.gregs[i] = 0x1000 + i;
	assert_int_equal(dso_cfi_row(d, restorer_address() - base, &row), 0);
	assert_true(row->signal_frame);
	mem_stack_init(&mem, NULL, 0x7000, &uc, sizeof(uc));
	regs_set(&regs, X86_RSP, 0x7000);
	assert_int_equal(cfi_row_apply(row, &arch_x86_64, &mem.mem, &regs), CFI_STEP_OK);
	assert_int_equal(regs.known & 0x1ffff, 0x1ffff); /* all of them */
	assert_int_equal(regs.r[X86_RIP], 0x1000 + REG_RIP);
	assert_int_equal(regs.r[X86_RSP], 0x1000 + REG_RSP);
	assert_int_equal(regs.r[X86_RAX], 0x1000 + REG_RAX);
	assert_int_equal(regs.r[X86_R15], 0x1000 + REG_R15);
	dso_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apply_computes_the_caller),
		cmocka_unit_test(apply_keeps_what_was_popped),
		cmocka_unit_test(apply_refuses_without_touching),
		cmocka_unit_test(seal_refuses_nonsense),
		cmocka_unit_test(expressions_compute),
		cmocka_unit_test(expressions_are_bounded),
		cmocka_unit_test(rows_agree_with_libunwind_libc),
		cmocka_unit_test(rows_agree_with_libunwind_libjvm),
		cmocka_unit_test(rows_agree_with_libunwind_libjava),
		cmocka_unit_test(glibc_marks_its_outermost_functions),
		cmocka_unit_test(signal_trampoline_gives_the_interrupted_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
