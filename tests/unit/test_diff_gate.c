#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/diff/gate.h"
#include "symbolizer/base/err.h"

static void good(void **state)
{
	struct gate g;

	(void)state;
	assert_int_equal(gate_parse("self(com/acme/"
				    "**) > +3pt",
				    &g, NULL),
			 0);
	assert_string_equal(g.pattern, "com/acme/"
				       "**");
	assert_true(!g.any && !g.total && !g.less && !g.or_equal && !g.relative);
	assert_true(g.limit == 3);
	gate_done(&g);
	assert_int_equal(gate_parse("  any total ( operator()(int) )<=-0.5%  ", &g, NULL), 0);
	assert_string_equal(g.pattern, "operator()(int)");
	assert_true(g.any && g.total && g.less && g.or_equal && g.relative);
	assert_true(g.limit == -0.5);
	gate_done(&g);
	assert_int_equal(gate_parse("total(x)>+10 %", &g, NULL), 0);
	gate_done(&g);
	assert_int_equal(gate_parse("total(x)>=+.5 pt", &g, NULL), 0);
	assert_true(g.limit == 0.5 && g.or_equal);
	gate_done(&g);
}

/* What is wrong, and the column where. */
static void bad(void **state)
{
	static const struct {
		const char *text;
		int column;
	} cases[] = {
		{"", 1},
		{"   ", 4},
		{"x", 1},
		{"selfish(x) > +3pt", 1},
		{"self x > +3pt", 6},
		{"self(x > +3pt", 6},
		{"self(f(x) > +3pt", 6},
		{"self(x)) > +3pt", 8},
		{"self() > +3pt", 6},
		{"self(  ) > +3pt", 8},
		{"self(x)", 8},
		{"self(x) = +3pt", 9},
		{"self(x) > 3pt", 11},
		{"self(x) > +", 12},
		{"self(x) > +pt", 12},
		{"self(x) > +.pt", 12},
		{"self(x) > +0x10pt", 13},
		{"self(x) > +1e3pt", 13},
		{"self(x) > +nanpt", 12},
		{"self(x) > +infpt", 12},
		{"self(x) > +99999999999pt", 12},
		{"self(x) > +3", 13},
		{"self(x) > +3points", 13},
		{"self(x) > +3pt and more", 16},
		{"self(x) > +3pt, self(y) > +3pt", 15},
		{"any any self(x) > +3pt", 5},
		{"anyself(x) > +3pt", 1},
		{"self(x) >> +3pt", 10},
		{"self(x) > -3pt", 11},
		{"self(x) < +3pt", 11},
		{"self(x) > +-3pt", 12},
		{"SELF(x) > +3pt", 1},
		{"self\xff(x) > +3pt", 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		struct gate g;
		char column[24];

		snprintf(column, sizeof(column), "column %d: ", cases[i].column);
		if (gate_parse(cases[i].text, &g, &err) != -EINVAL)
			fail_msg("'%s' was accepted", cases[i].text);
		if (!strstr(err.msg, column))
			fail_msg("'%s': %s", cases[i].text, err.msg);
	}
}

/* Any bytes: an error or an expression, whatever is cut, doubled or changed. */
static void hostile(void **state)
{
	static const char whole[] = "any total ( com/acme/"
				    "** ) >= +12.5 pt";
	static const char bytes[] = "()<>+-=.%*0 9ptanyself\t\n\x01\x7f\x80\xff";
	char text[sizeof(whole) + 8], *large;
	unsigned seed = 1;
	struct gate g;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		size_t n = sizeof(whole) - 1;

		memcpy(text, whole, sizeof(whole));
		for (int k = 0; k < 3; k++) {
			seed = seed * 1103515245u + 12345u;
			text[(seed >> 8) % n] = bytes[(seed >> 20) % (sizeof(bytes) - 1)];
		}
		seed = seed * 1103515245u + 12345u;
		if ((seed >> 16) % 3 == 0)
			text[(seed >> 18) % n] = '\0';
		if (gate_parse(text, &g, NULL) == 0) {
			assert_true(isfinite(g.limit) && *g.pattern);
			gate_done(&g);
		}
	}
	large = malloc(100001);
	memset(large, '(', 100000);
	large[100000] = '\0';
	assert_int_equal(gate_parse(large, &g, NULL), -EINVAL);
	memset(large, 'x', 1500);
	memcpy(large, "self(", 5);
	memcpy(large + 1500, ") > +3pt", 9);
	assert_int_equal(gate_parse(large, &g, NULL), -EINVAL); /* the pattern is too long */
	free(large);
}

static void limits(void **state)
{
	struct diff_change c = {.share = {0.10, 0.13}, .delta = 0.03};
	struct gate g = {.limit = 3};

	(void)state;
	assert_false(gate_is_beyond(&g, &c));
	g.or_equal = true;
	assert_true(gate_is_beyond(&g, &c));
	g.or_equal = false;
	g.limit = 2.99;
	assert_true(gate_is_beyond(&g, &c));
	g.relative = true;
	g.limit = 29;
	assert_true(gate_is_beyond(&g, &c));
	g.limit = 31;
	assert_false(gate_is_beyond(&g, &c));
	c = (struct diff_change){.share = {0, 0.001}, .delta = 0.001};
	g.limit = 999999;
	assert_true(gate_is_beyond(&g, &c));
	c = (struct diff_change){.share = {0.2, 0}, .delta = -0.2};
	g = (struct gate){.less = true, .relative = true, .limit = -99};
	assert_true(gate_is_beyond(&g, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
		cmocka_unit_test(hostile),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
