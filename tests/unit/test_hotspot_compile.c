#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/hotspot/methods/compile_state.h"
#include "symbolizer/hotspot/methods/method.h"

static const struct hs_method method = {
	.class_name = "com/acme/Shop$Cart",
	.name = "total",
	.signature = "(ILjava/lang/String;)J",
	.code_size = 120,
};

static const struct hs_compile_rules rules = {
	.tiered = true,
	.huge_limit = 8000,
	.calls = 200,
	.min_calls = 100,
	.calls_and_loops = 2000,
	.loops = 60000,
};

static void says(const struct hs_compile_rules *r, const struct hs_method *m, struct hs_compile_state s,
		 const char *expected)
{
	struct buf b = {0};

	s.known = true;
	hs_compile_why(r, m, &s, false, &b);
	assert_false(b.failed);
	assert_string_equal(b.data ? b.data : "", expected);
	buf_done(&b);
}

static void reasons(void **state)
{
	struct hs_compile_rules r = rules;
	struct hs_method huge = method;
	(void)state;

	huge.code_size = 22832;
	says(&r, &method, (struct hs_compile_state){.counted = true, .calls = 57, .loops = 1200},
	     "below its thresholds: 57 of 200 calls, 1,200 of 60,000 loop iterations");
	says(&r, &method, (struct hs_compile_state){0}, "below its thresholds: not counted yet");
	says(&r, &method, (struct hs_compile_state){.counted = true, .calls = 100, .loops = 1900},
	     "over its thresholds, not compiled yet: 100 of 200 calls, 1,900 of 60,000 loop iterations");
	says(&r, &method, (struct hs_compile_state){.counted = true, .calls_full = true, .calls = 1 << 30},
	     "over its thresholds, not compiled yet: over 1,073,741,824 of 200 calls, "
	     "0 of 60,000 loop iterations");
	says(&r, &huge, (struct hs_compile_state){0},
	     "22,832 bytecodes: methods over 8,000 are not compiled (DontCompileHugeMethods)");
	says(&r, &huge, (struct hs_compile_state){.tier = 4}, "compiled by now (C2, level 4)");
	says(&r, &method, (struct hs_compile_state){.tier = 3, .not_c2_osr = true},
	     "compiled by now (C1, level 3), but its loops cannot be entered compiled");
	says(&r, &method, (struct hs_compile_state){.queued = true}, "waits for a compiler thread");
	says(&r, &method, (struct hs_compile_state){.not_c1 = true, .not_c2 = true},
	     "not compilable by C1 or C2: excluded by a file or directive, or they gave up");
	says(&r, &method, (struct hs_compile_state){.not_c1 = true, .queued = true},
	     "waits for a compiler thread; not compilable by C1");
	says(&r, &method, (struct hs_compile_state){.breakpoints = 1}, "has 1 breakpoint");
	r.compile_only = true;
	says(&r, &method, (struct hs_compile_state){.not_c1 = true, .not_c2 = true},
	     "not compilable by C1 or C2: CompileOnly leaves it out, or they gave up");
	strcpy(r.commands, "quiet\nexclude,com.acme.Shop*::total\ninline,x.y");
	says(&r, &method, (struct hs_compile_state){0}, "excluded by CompileCommand=exclude,com.acme.Shop*::total");
	r.compiler_off = true;
	says(&r, &huge, (struct hs_compile_state){0}, "the JVM's compilers are switched off");
	r.interpreter_only = true;
	says(&r, &huge, (struct hs_compile_state){0}, "the JVM compiles nothing (-Xint)");
}

static void says_about(uint64_t calls, uint64_t loops, const char *expected)
{
	const struct hs_compile_state s = {.known = true, .counted = true, .calls = calls, .loops = loops};
	struct buf b = {0};

	hs_compile_why(&rules, &method, &s, true, &b);
	assert_string_equal(b.data, expected);
	buf_done(&b);
}

static void counts_with_one_digit(void **state)
{
	(void)state;
	says_about(0, 9, "below its thresholds: 0 of 200 calls, 9 of 60,000 loop iterations");
	says_about(10, 11, "below its thresholds: about 10 of 200 calls, about 10 of 60,000 loop iterations");
	says_about(94, 999, "below its thresholds: about 90 of 200 calls, about 900 of 60,000 loop iterations");
	says_about(96, 1600, "below its thresholds: about 90 of 200 calls, about 1,000 of 60,000 loop iterations");
	says_about(0, 1000, "below its thresholds: 0 of 200 calls, about 1,000 of 60,000 loop iterations");
	says_about(0, 59999, "below its thresholds: 0 of 200 calls, about 50,000 of 60,000 loop iterations");
	says_about(
		0, UINT64_C(1) << 31,
		"over its thresholds, not compiled yet: 0 of 200 calls, about 3,000,000,000 of 60,000 loop iterations");
	says_about(299, 0,
		   "over its thresholds, not compiled yet: about 300 of 200 calls, 0 of 60,000 loop iterations");
	says_about(200, 0,
		   "over its thresholds, not compiled yet: about 200 of 200 calls, 0 of 60,000 loop iterations");
}

static void nothing_known_nothing_said(void **state)
{
	struct hs_compile_state s = {0};
	struct buf b = {0};
	(void)state;

	hs_compile_why(&rules, &method, &s, false, &b);
	assert_int_equal(b.len, 0);
	buf_done(&b);
}

static bool excluded(const char *commands)
{
	size_t len = 0;
	const char *at = compile_command_exclude(commands, &method, &len);

	assert_true(!at || (at >= commands && at + len <= commands + strlen(commands)));
	return at;
}

static void commands(void **state)
{
	/* clang-format off */
	static const char *const yes[] = {
		"exclude,com/acme/Shop$Cart.total", "exclude com.acme.Shop$Cart::total",
		"exclude,com/acme/Shop$Cart,total", "exclude com/acme/Shop$Cart total",
		"exclude,*Cart.to*", "exclude,*acme*::*", "exclude,com.acme.*::total",
		"exclude,com.acme.Shop$Cart::*otal", "  exclude , com.acme.Shop$Cart::total",
		"exclude,com.acme.Shop$Cart::total(ILjava/lang/String;)J",
		"exclude,com.acme.Shop$Cart::total,(I", "inline,a.b\nexclude,*.total", "exclude,*::*",
	};
	static const char *const no[] = {
		"", "\n", "exclude", "exclude,", "exclude,com.acme.Shop$Cart", "exclude,Cart.total",
		"exclude,com.acme.Shop$Cart.tota", "exclude,com.acme.Shop$Cart.totals",
		"exclude,*Shop.total", "include,com.acme.Shop$Cart::total", "excluded,*::*",
		"inline,com.acme.Shop$Cart::total", "exclude,com.acme.Shop$Cart::total(J)V",
		"exclude,::", "exclude,.", "exclude,com.acme.Shop$Cart::",
		"exclude,com.acme.Shop$Cart.total.and.more.text.than.there.is", "exclude,\n*::*",
	};
	/* clang-format on */
	(void)state;

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!excluded(yes[i]))
			fail_msg("not excluded by %s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (excluded(no[i]))
			fail_msg("excluded by %s", no[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons),
		cmocka_unit_test(counts_with_one_digit),
		cmocka_unit_test(nothing_known_nothing_said),
		cmocka_unit_test(commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
