#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

static const struct label shop[] = {{"service", "shop-eu"}, {"user", "tomcat"}, {"version", "1.2"}};
static const struct label bank[] = {{"service", "bank"}, {"user", "root"}};

static struct rules *new_rules(void **state)
{
	struct rules *r = rules_new();

	assert_non_null(r);
	*state = r;
	return r;
}

static int done(void **state)
{
	rules_free(*state);
	return 0;
}

static void rule(struct rules *r, const char *name, const char *key, const char *pattern)
{
	assert_int_equal(rules_add(r, name, "f:1", NULL), 0);
	if (key)
		assert_int_equal(rules_condition(r, key, pattern, NULL), 0);
}

static void first_decides(void **state)
{
	struct rules *r = new_rules(state);
	struct rule_choice c;

	c = rules_choose(r, shop, 3);
	assert_true(!c.leave_out && !c.rule && !c.frequency);
	rule(r, "quiet", "service", "shop-*");
	assert_int_equal(rules_condition(r, "user", "tom*", NULL), 0);
	assert_int_equal(rules_label(r, "team", "payments", NULL), 0);
	rules_last(r)->frequency = 19;
	rule(r, "out", NULL, NULL);
	rules_last(r)->leave_out = true;
	c = rules_choose(r, shop, 3);
	assert_string_equal(c.rule, "quiet");
	assert_int_equal(c.frequency, 19);
	assert_int_equal(c.n_labels, 1);
	assert_string_equal(c.labels[0].value, "payments");
	assert_false(c.leave_out);
	c = rules_choose(r, bank, 2);
	assert_string_equal(c.rule, "out");
	assert_true(c.leave_out);
}

/* All conditions must hold; a label that is not there holds for nothing. */
static void conditions(void **state)
{
	struct rules *r = new_rules(state);

	rule(r, "both", "service", "*");
	assert_int_equal(rules_condition(r, "version", "*", NULL), 0);
	assert_non_null(rules_choose(r, shop, 3).rule);
	assert_null(rules_choose(r, bank, 2).rule);
	assert_null(rules_choose(r, NULL, 0).rule);
}

static void refused(void **state)
{
	struct rules *r = new_rules(state);
	char name[16];
	struct err e;

	assert_null(rules_last(r));
	rule(r, "a", "service", "x");
	assert_int_equal(rules_add(r, "a", "f:2", &e), -EEXIST);
	assert_string_equal(e.msg, "there is a rule 'a' already, in f:1");
	assert_int_equal(rules_condition(r, "service", "y", &e), -EEXIST);
	assert_int_equal(rules_condition(r, "user", "", &e), -EINVAL);
	for (int i = 1; i < RULE_CONDITIONS; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		assert_int_equal(rules_condition(r, name, "x", NULL), 0);
	}
	assert_int_equal(rules_condition(r, "more", "x", &e), -E2BIG);
	for (int i = 0; i < RULE_LABELS; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		assert_int_equal(rules_label(r, name, "x", NULL), 0);
	}
	assert_int_equal(rules_label(r, "more", "x", &e), -E2BIG);
	for (int i = 1; i < RULES_MAX; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		rule(r, name, NULL, NULL);
	}
	assert_int_equal(rules_add(r, "more", "f:3", &e), -E2BIG);
	assert_int_equal(rules_count(r), RULES_MAX);
}

static void idle(void **state)
{
	struct rules *r = new_rules(state);
	char why[200];

	rule(r, "shops", "service", "shop-*");
	rule(r, "eu", "service", "*-eu");
	rule(r, "pods", "pod", "*");
	rule(r, "us", "service", "*-us");
	assert_true(rules_idle(r, 0, why, sizeof(why)));
	assert_string_equal(why, "f:1: rule 'shops' has matched no JVM so far: none has the label 'service'");
	rules_choose(r, shop, 3);
	rules_choose(r, bank, 2);
	assert_false(rules_idle(r, 0, why, sizeof(why)));
	assert_true(rules_idle(r, 1, why, sizeof(why)));
	assert_string_equal(why, "f:1: rule 'eu' has decided on no JVM so far: rule 'shops', which comes before it, "
				 "decides on those that it matches");
	assert_true(rules_idle(r, 2, why, sizeof(why)));
	assert_string_equal(why, "f:1: rule 'pods' has matched no JVM so far: none has the label 'pod'");
	assert_true(rules_idle(r, 3, why, sizeof(why)));
	assert_string_equal(why, "f:1: rule 'us' has matched no JVM so far");
	rule(r, "roots", "user", "root");
	rule(r, "banks", "service", "bank");
	rules_choose(r, bank, 2);
	assert_true(rules_idle(r, 5, why, sizeof(why)));
	assert_non_null(strstr(why, "rule 'roots', which comes before it"));
}

/* What is sampled by any labels that are not known must not be left out by those that are. */
static void known_in_part(void **state)
{
	static const struct label jenkins[] = {{"user", "jenkins"}}, root[] = {{"user", "root"}},
				  tom[] = {{"user", "tom"}};
	struct rules *r = new_rules(state);
	char why[200];

	assert_false(rules_leave_out(r, jenkins, 1));
	rule(r, "pids", "pid", "*");
	rule(r, "perhaps out", "service", "a");
	rules_last(r)->leave_out = true;
	rule(r, "builds", "user", "jenkins");
	rules_last(r)->leave_out = true;
	assert_true(rules_leave_out(r, jenkins, 1));
	assert_false(rules_leave_out(r, root, 1));
	rule(r, "perhaps in", "service", "b");
	assert_int_equal(rules_condition(r, "user", "root", NULL), 0);
	rule(r, "rest", NULL, NULL);
	rules_last(r)->leave_out = true;
	assert_true(rules_leave_out(r, jenkins, 1));
	assert_false(rules_leave_out(r, root, 1));
	assert_true(rules_leave_out(r, tom, 1));
	assert_true(rules_leave_out(r, NULL, 0));
	assert_false(rules_idle(r, 2, why, sizeof(why))); /* it may have left out all that it is for */
	assert_true(rules_idle(r, 1, why, sizeof(why)));
}

/* As many rules as there may be, each as dear as it can be, on values as long as labels get. */
static void bounded(void **state)
{
	struct rules *r = new_rules(state);
	static char pattern[257], value[256], name[16];
	static struct label labels[RULE_CONDITIONS];
	static char keys[RULE_CONDITIONS][16];
	uint64_t start;

	for (size_t i = 0; i < 256; i += 2)
		memcpy(pattern + i, i < 128 ? "*a" : "aa", 2);
	pattern[255] = 'b';
	memset(value, 'a', 255);
	for (int i = 0; i < RULE_CONDITIONS; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%d", i);
		labels[i] = (struct label){keys[i], value};
	}
	for (int i = 0; i < RULES_MAX; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		rule(r, name, NULL, NULL);
		for (int k = 0; k < RULE_CONDITIONS; k++)
			assert_int_equal(rules_condition(r, keys[k], k < RULE_CONDITIONS - 1 ? "*" : pattern, NULL), 0);
	}
	start = clock_monotonic_ns();
	assert_null(rules_choose(r, labels, RULE_CONDITIONS).rule);
	assert_true(clock_monotonic_ns() - start < UINT64_C(2000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(first_decides, done), cmocka_unit_test_teardown(conditions, done),
		cmocka_unit_test_teardown(refused, done),       cmocka_unit_test_teardown(idle, done),
		cmocka_unit_test_teardown(known_in_part, done), cmocka_unit_test_teardown(bounded, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
