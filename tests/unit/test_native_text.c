#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/native/names/demangle.h"
#include "symbolizer/native/names/demangled.h"
#include "symbolizer/native/names/perfmap.h"
#include "symbolizer/target/proc.h"
#include "tests/support/kallsyms_text.h"

static void check_demangle(const char *name, const char *want)
{
	char got[4096];

	demangle(name, got, sizeof(got));
	assert_string_equal(got, want);
}

static void demangles_without_parameters(void **state)
{
	(void)state;
	check_demangle("_ZN15G1CollectedHeap3runEv", "G1CollectedHeap::run");
	check_demangle("_ZNK6Symbol8as_utf8_Ev", "Symbol::as_utf8_");
	check_demangle("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo");
	check_demangle("_ZN1AclEi", "A::operator()");
	check_demangle("_ZNK1AltERKS_", "A::operator<");
	check_demangle("_ZN1AlsEi", "A::operator<<");
	check_demangle("_ZN1AptEv", "A::operator->");
	check_demangle("_ZN1AixEm", "A::operator[]");
	check_demangle("_ZN1AcvjEv", "A::operator unsigned int");
	check_demangle("_ZN1AnwEm", "A::operator new");
	check_demangle("_Znam", "operator new[]");
	check_demangle("_ZdlPv", "operator delete");
	/* Templates: return type and parameters go, arguments stay. */
	check_demangle("_Z3fooIiEvT_", "foo<int>");
	check_demangle("_Z3fooIiEPFvvET_", "void (*foo<int>(int))()");
	check_demangle("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back");
	check_demangle("_Z3fooIXadL_Z3barvEEEvv", "foo<&(bar())>");
	check_demangle("_ZN1AC1Ei", "A::A");
	check_demangle("_ZN1AD0Ev", "A::~A");
	/* Lambdas and local classes of functions. */
	check_demangle("_ZZ3foovENKUlvE_clEv", "foo::{lambda()#1}::operator()");
	check_demangle("_ZZN1A3barEiENKUliE0_clEi", "A::bar::{lambda(int)#2}::operator()");
	check_demangle("_ZZNK1A3barEiENUlvE_4_FUNEv", "A::bar::{lambda()#1}::_FUN");
	check_demangle("_ZN3FooB5cxx113barEv", "Foo[abi:cxx11]::bar");
	check_demangle("_ZThn16_N1A3runEv", "non-virtual thunk to A::run");
	check_demangle("_ZTV6Method", "vtable for Method");
}

static void cuts_what_compilers_append(void **state)
{
	(void)state;
	check_demangle("_ZN1A3runEv.isra.0", "A::run");
	check_demangle("_ZN1A3runEv.constprop.0.cold", "A::run");
	check_demangle("foo.part.3", "foo");
	check_demangle("foo.llvm.123456", "foo");
	check_demangle("foo.cold", "foo");
	check_demangle("lib.foo", "lib.foo");
	check_demangle(".part.0", ".part.0");
	check_demangle("plain_c_name", "plain_c_name");
	check_demangle("", "");
}

static void demangles_legacy_rust(void **state)
{
	(void)state;
	check_demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	check_demangle(
		"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar");
	check_demangle("_ZN3foo3barEv", "foo::bar");
	check_demangle("_ZN3foo17h0123456789abcdeE", "_ZN3foo17h0123456789abcdeE"); /* 16 of 17 */
}

/* Each level doubles the time that the demangler takes. */
static void conversion_to_nested_templates(int levels)
{
	struct buf b = {0};
	char out[512];

	buf_add_z(&b, "_Zcv");
	for (int i = 0; i < levels; i++)
		buf_add_z(&b, "T_I");
	buf_add_z(&b, "i");
	for (int i = 0; i < levels; i++)
		buf_add_z(&b, "E");
	buf_add_z(&b, "v");
	demangle(b.data, out, sizeof(out));
	assert_string_equal(out, b.data);
	buf_done(&b);
}

/* Names come from the target. */
static void hostile_names(void **state)
{
	static char longest[100000], out[64], small[8];
	struct buf b = {0};
	uint64_t start = clock_thread_cpu_ns();
	unsigned i, k;

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest, "_ZN", 3);
	demangle(longest, out, sizeof(out));
	assert_int_equal(strlen(out), sizeof(out) - 1);
	demangle("_ZN15G1CollectedHeap3runEv", small, sizeof(small));
	assert_string_equal(small, "G1Colle");
	demangle("x", small, 0);
	/* pair<A, A> of pair<A, A> of ...: 2^60 characters. */
	buf_add_z(&b, "_Z1fSt4pairIiiE");
	for (i = 0; i < 60; i++)
		buf_printf(&b, "S%s_", i ? (char[2]){(char)('0' + i % 10), 0} : "");
	demangle(b.data, out, sizeof(out));
	buf_reset(&b);
	buf_add_z(&b, "_Z1f");
	for (i = 0; i < 40; i++)
		buf_add_z(&b, "St4pairI");
	buf_add_z(&b, "ii");
	for (i = 0; i < 40; i++)
		buf_printf(&b, "ES%c_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	demangle(b.data, out, sizeof(out));
	buf_done(&b);
	conversion_to_nested_templates(34);
	/* Garbage that starts like a name. */
	for (i = 0; i < 20000; i++) {
		char name[64] = "_Z";

		for (k = 2; k < 40; k++)
			name[k] = "NSTIEKLvijP0123_stZclAaRFC"[hash_u64(i * 64 + k) % 26];
		demangle(name, out, sizeof(out));
	}
	assert_true(clock_thread_cpu_ns() - start < UINT64_C(10000000000));
}

static const char *kernel_name(const char *text, uint64_t addr, char *buf, size_t size)
{
	struct kallsyms *k = kallsyms_of_text(text, strlen(text));
	const char *name;

	name = kallsyms_find(k, addr);
	snprintf(buf, size, "%s", name ? name : "(none)");
	kallsyms_close(k);
	return buf;
}

static void kallsyms_finds_functions(void **state)
{
	static const char text[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000100 t do_work.isra.0\n"
				   "ffffffff81000180 d not_code\n"
				   "ffffffff81000200 W weak_one\n"
				   "ffffffffc0001000 t mod_fn\t[some_module]\n"
				   "ffffffffc0000000 t mod_first.constprop.0\t[some_module]\n"
				   "ffffffff81000280 t local\n"
				   "ffffffff81000280 T global\n"
				   "ffffffff81000280 T later\n"
				   "ffffffff810002c0 t __pfx_padded\n"
				   "ffffffff810002c0 W _stextual\n"
				   "garbage\n"
				   "ffffffff8\n"
				   "zzzz T x\n"
				   "ffffffff81000300 T last_without_newline";
	char buf[64];

	(void)state;
	assert_string_equal(kernel_name(text, 0xffffffff81000010, buf, 64), "startup_64");
	assert_string_equal(kernel_name(text, 0xffffffff81000100, buf, 64), "do_work");
	assert_string_equal(kernel_name(text, 0xffffffff810001ff, buf, 64), "do_work");
	assert_string_equal(kernel_name(text, 0xffffffff81000210, buf, 64), "weak_one");
	assert_string_equal(kernel_name(text, 0xffffffff81000281, buf, 64), "global");
	assert_string_equal(kernel_name(text, 0xffffffff810002c8, buf, 64), "_stextual");
	assert_string_equal(kernel_name(text, 0xffffffff81000310, buf, 64), "last_without_newline");
	assert_string_equal(kernel_name(text, 0xffffffffc0000800, buf, 64), "mod_first");
	assert_string_equal(kernel_name(text, 0xffffffffc0001001, buf, 64), "mod_fn");
	assert_string_equal(kernel_name(text, 0xffffffff80000000, buf, 64), "(none)");
	assert_string_equal(kernel_name(text, 0xffffffff90000000, buf, 64), "(none)"); /* a gap */
}

/* Sorted functions, then `data` lines, then two modules, the higher one first. */
static void add_kernel(struct buf *b, unsigned functions, unsigned data)
{
	for (unsigned i = 0; i < functions; i++)
		buf_printf(b, "%016lx T function_%u\n", (unsigned long)(0xffffffff81000000 + i * 64), i);
	for (unsigned i = 0; i < data; i++)
		buf_printf(b, "%016lx D data_%u\n", (unsigned long)(0xffffffff82000000 + i * 64), i);
	buf_add_z(b, "ffffffffc0100000 t upper\t[second]\nffffffffc0000000 t lower\t[first]\n");
}

static void kallsyms_are_read_as_far_as_needed(void **state)
{
	struct buf b = {0};
	struct kallsyms *k;
	int fd, same;

	(void)state;
	add_kernel(&b, 20000, 20000);
	fd = kallsyms_file(b.data, b.len);
	same = dup(fd);
	k = kallsyms_open(fd);
	assert_string_equal(kallsyms_find(k, 0xffffffff81000000 + 64 * 100 + 9), "function_100");
	assert_true(lseek(same, 0, SEEK_CUR) < (off_t)b.len / 8);
	assert_string_equal(kallsyms_find(k, 0xffffffff81000000 + 64 * 10000), "function_10000");
	assert_string_equal(kallsyms_find(k, 0xffffffff81000000), "function_0");
	assert_true(lseek(same, 0, SEEK_CUR) < (off_t)b.len / 2);
	/* The module with the lower address is listed last. */
	assert_string_equal(kallsyms_find(k, 0xffffffffc0000010), "lower");
	assert_int_equal(lseek(same, 0, SEEK_CUR), b.len);
	assert_string_equal(kallsyms_find(k, 0xffffffffc0100010), "upper");
	assert_string_equal(kallsyms_find(k, 0xffffffff81000000 + 64 * 19999), "function_19999");
	kallsyms_close(k);
	close(same);
	buf_done(&b);
}

static void kallsyms_says_when_addresses_are_hidden(void **state)
{
	static const char text[] = "0000000000000000 T _text\n0000000000000000 t foo\n";
	struct kallsyms *k = kallsyms_of_text(text, strlen(text));

	(void)state;
	assert_int_equal(kallsyms_load(k, UINT64_MAX, NULL), -EACCES);
	assert_null(kallsyms_find(k, 0));
	kallsyms_close(k);
	k = kallsyms_of_text("", 0);
	assert_null(kallsyms_find(k, 0xffffffff81000000));
	assert_int_equal(kallsyms_load(k, UINT64_MAX, NULL), 0); /* was done already */
	kallsyms_close(k);
}

static void kallsyms_of_this_kernel(void **state)
{
	uint64_t start = clock_monotonic_ns();
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	struct kallsyms *k = fd < 0 ? NULL : kallsyms_open(fd);
	int r = k ? kallsyms_load(k, UINT64_MAX, NULL) : -ENOENT;
	double ms = (double)(clock_monotonic_ns() - start) / 1e6, parse_ms;
	struct buf b = {0};
	unsigned i;

	(void)state;
	assert_true(r == 0 || r == -EACCES || r == -ENOENT || r == -EPERM);
	kallsyms_close(k);
	for (i = 0; i < 200000; i++)
		buf_printf(&b, "%016lx %c some_kernel_function_%x%s\n", (unsigned long)(0xffffffff81000000 + i * 48),
			   i % 4 ? 't' : 'd', i, i > 150000 ? "\t[module]" : "");
	start = clock_monotonic_ns();
	k = kallsyms_of_text(b.data, b.len);
	assert_int_equal(kallsyms_load(k, UINT64_MAX, NULL), 0);
	parse_ms = (double)(clock_monotonic_ns() - start) / 1e6;
	assert_string_equal(kallsyms_find(k, 0xffffffff81000000 + 48 * 7 + 3), "some_kernel_function_7");
	print_message("kallsyms: this kernel's read and parsed in %.1f ms (%d), 200,000 lines parsed "
		      "in %.1f ms\n",
		      ms, r, parse_ms);
	kallsyms_close(k);
	buf_done(&b);
}

static const char *jit_name(const char *text, size_t len, uint64_t addr, char *buf, size_t size)
{
	struct perfmap *p;
	const char *name;

	assert_int_equal(perfmap_parse(text, len, &p), 0);
	name = perfmap_find(p, addr);
	snprintf(buf, size, "%s", name ? name : "(none)");
	perfmap_close(p);
	return buf;
}

static void perfmap_finds_names(void **state)
{
	static const char text[] = "7f0000001000 100 LazyCompile:~foo /app/x.js:1\n"
				   "7f0000003000 80 later\n"
				   "0x7f0000002000 0x40 prefixed\n"
				   "7f0000003040 20 inner replaces\n"
				   "7f0000001000 80 recompiled";
	char buf[64];

	(void)state;
	assert_string_equal(jit_name(text, strlen(text), 0x7f0000001000, buf, 64), "recompiled");
	assert_string_equal(jit_name(text, strlen(text), 0x7f00000010c0, buf, 64), "LazyCompile:~foo /app/x.js:1");
	assert_string_equal(jit_name(text, strlen(text), 0x7f000000203f, buf, 64), "prefixed");
	assert_string_equal(jit_name(text, strlen(text), 0x7f0000002040, buf, 64), "(none)");
	assert_string_equal(jit_name(text, strlen(text), 0x7f0000003050, buf, 64), "inner replaces");
	assert_string_equal(jit_name(text, strlen(text), 0x7f0000003070, buf, 64), "later");
	assert_string_equal(jit_name(text, strlen(text), 0, buf, 64), "(none)");
}

static void perfmap_survives_garbage(void **state)
{
	static const char bad[] = "\n \nxyz 10 a\n10\n10 \n10 zz b\n10 0 empty\n"
				  "ffffffffffffffff 2 wraps\n123456789012345678901 1 too_long\n"
				  "1000 10\n1000 10 \n2000 10 good\n3000 10 no end";
	static char noise[200000];
	char buf[64];
	size_t i;

	(void)state;
	assert_string_equal(jit_name(bad, strlen(bad), 0x2005, buf, 64), "good");
	assert_string_equal(jit_name(bad, strlen(bad), 0x3005, buf, 64), "no end");
	assert_string_equal(jit_name(bad, strlen(bad), 0x1005, buf, 64), "(none)");
	assert_string_equal(jit_name("", 0, 0x1005, buf, 64), "(none)");
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = "0123456789abcdef \n\0xX\xff"[hash_u64(i) % 22];
	for (i = 0; i < 64; i++)
		jit_name(noise, sizeof(noise), hash_u64(i) >> (i % 64), buf, 64);
}

static void perfmap_must_belong_to_the_target(void **state)
{
	char path[64];
	struct proc *proc;
	struct perfmap *p;
	struct budget b;
	struct err err = {0};
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	assert_int_equal(proc_open(getpid(), &proc, NULL), 0);
	assert_int_equal(perfmap_open(proc, NULL, &p, &err), -ENOENT);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("1000 10 mine\n", f);
	fclose(f);
	assert_int_equal(perfmap_open(proc, NULL, &p, &err), 0);
	assert_string_equal(perfmap_find(p, 0x1001), "mine");
	perfmap_close(p);
	budget_init(&b, BUDGET_STEP, 0);
	assert_int_equal(perfmap_open(proc, &b, &p, &err), 0);
	assert_int_equal(budget_bytes_left(&b), 0);
	perfmap_close(p);
	assert_int_equal(budget_bytes_left(&b), BUDGET_STEP);
	budget_init(&b, BUDGET_STEP - 1, 0);
	assert_int_equal(perfmap_open(proc, &b, &p, &err), -EFBIG);
	assert_int_equal(budget_bytes_left(&b), BUDGET_STEP - 1);
	budget_init(&b, BUDGET_STEP, 0);
	budget_cancel(&b); /* a signal, while names are worked out */
	assert_int_equal(perfmap_open(proc, &b, &p, &err), -ETIME);
	assert_int_equal(budget_bytes_left(&b), BUDGET_STEP);
	if (geteuid() == 0 && chown(path, 12345, 12345) == 0) {
		assert_int_equal(perfmap_open(proc, NULL, &p, &err), -EPERM);
		assert_non_null(strstr(err.msg, "12345"));
	}
	unlink(path);
	proc_close(proc);
}

static void demangled_names_are_kept_within_bounds(void **state)
{
	struct demangled *d = demangled_new();
	char name[2000];

	(void)state;
	assert_non_null(d);
	assert_null(demangled_find(d, "_ZN1A3runEv"));
	demangled_add(d, "_ZN1A3runEv", "A::run");
	demangled_add(d, "_ZN1A3run", "");
	assert_string_equal(demangled_find(d, "_ZN1A3runEv"), "A::run");
	assert_string_equal(demangled_find(d, "_ZN1A3run"), "");
	assert_null(demangled_find(d, "_ZN1A3runEvv"));
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "_Z%01990d", i);
		demangled_add(d, name, "x");
		assert_string_equal(demangled_find(d, name), "x");
		if (i == 400) /* 0.8 MB: all are still there */
			assert_string_equal(demangled_find(d, "_ZN1A3runEv"), "A::run");
	}
	assert_null(demangled_find(d, "_ZN1A3runEv"));
	snprintf(name, sizeof(name), "_Z%01990d", 9998);
	assert_string_equal(demangled_find(d, name), "x");
	demangled_free(d);
	demangled_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangles_without_parameters),
		cmocka_unit_test(cuts_what_compilers_append),
		cmocka_unit_test(demangles_legacy_rust),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(demangled_names_are_kept_within_bounds),
		cmocka_unit_test(kallsyms_finds_functions),
		cmocka_unit_test(kallsyms_are_read_as_far_as_needed),
		cmocka_unit_test(kallsyms_says_when_addresses_are_hidden),
		cmocka_unit_test(kallsyms_of_this_kernel),
		cmocka_unit_test(perfmap_finds_names),
		cmocka_unit_test(perfmap_survives_garbage),
		cmocka_unit_test(perfmap_must_belong_to_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
