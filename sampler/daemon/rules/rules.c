#include "sampler/daemon/rules/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/err.h"
#include "symbolizer/patterns/glob.h"

struct rule {
	struct rule_choice choice;
	const char *where;
	struct label conditions[RULE_CONDITIONS]; /* the values are patterns */
	size_t n_conditions;
	struct label labels[RULE_LABELS];
	bool seen[RULE_CONDITIONS]; /* a target had this label */
	bool matched, decided;
	size_t taken_by; /* if it matched but did not decide: the rule that did, most recently */
};

struct rules {
	struct arena texts;
	struct rule *v[RULES_MAX];
	size_t n;
	bool used;
};

struct rules *rules_new(void)
{
	return calloc(1, sizeof(struct rules));
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	arena_done(&r->texts);
	free(r);
}

size_t rules_count(const struct rules *r)
{
	return r->n;
}

bool rules_suspend(const struct rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i]->choice.suspend)
			return true;
	return false;
}

bool rules_wall(const struct rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i]->choice.wall)
			return true;
	return false;
}

bool rules_used(const struct rules *r)
{
	return r->used;
}

static const char *copy(struct rules *r, const char *text)
{
	return arena_strndup(&r->texts, text, strlen(text));
}

int rules_add(struct rules *r, const char *name, const char *where, struct err *err)
{
	struct rule *rule;

	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i]->choice.rule, name) == 0)
			return err_set(err, -EEXIST, "there is a rule '%s' already, in %s", name, r->v[i]->where);
	if (r->n == RULES_MAX)
		return err_set(err, -E2BIG, "there are at most %d rules", RULES_MAX);
	rule = arena_alloc(&r->texts, sizeof(*rule));
	if (!rule || !(rule->choice.rule = copy(r, name)) || !(rule->where = copy(r, where)))
		return err_set(err, -ENOMEM, "out of memory");
	rule->choice.labels = rule->labels;
	r->v[r->n++] = rule;
	return 0;
}

static int add(struct rules *r, struct label *v, size_t *n, size_t max, const char *key, const char *value,
	       struct err *err)
{
	struct label l;

	for (size_t i = 0; i < *n; i++)
		if (strcmp(v[i].key, key) == 0)
			return err_set(err, -EEXIST, "it is in this rule already; remove one of them");
	if (*n == max)
		return err_set(err, -E2BIG, "a rule has at most %zu of these", max);
	l = (struct label){copy(r, key), copy(r, value)};
	if (!l.key || !l.value)
		return err_set(err, -ENOMEM, "out of memory");
	v[(*n)++] = l;
	return 0;
}

int rules_condition(struct rules *r, const char *key, const char *pattern, struct err *err)
{
	struct rule *last = r->v[r->n - 1];
	int e = glob_check(pattern, err);

	return e < 0 ? e : add(r, last->conditions, &last->n_conditions, RULE_CONDITIONS, key, pattern, err);
}

int rules_label(struct rules *r, const char *key, const char *value, struct err *err)
{
	struct rule *last = r->v[r->n - 1];

	return add(r, last->labels, &last->choice.n_labels, RULE_LABELS, key, value, err);
}

struct rule_choice *rules_last(struct rules *r)
{
	return r->n ? &r->v[r->n - 1]->choice : NULL;
}

static const char *value_of(const struct label *labels, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(labels[i].key, key) == 0)
			return labels[i].value;
	return NULL;
}

/* Checks all conditions, even after one fails, so that rules_idle() knows which label no target had. */
static bool matches(struct rule *rule, const struct label *labels, size_t n)
{
	bool all = true;

	for (size_t i = 0; i < rule->n_conditions; i++) {
		const char *value = value_of(labels, n, rule->conditions[i].key);

		rule->seen[i] |= value != NULL;
		all = all && value && glob_matches(rule->conditions[i].value, value);
	}
	return all;
}

struct rule_choice rules_choose(struct rules *r, const struct label *labels, size_t n)
{
	size_t decides = r->n;

	r->used = true;
	for (size_t i = 0; i < r->n; i++) {
		if (!matches(r->v[i], labels, n))
			continue;
		r->v[i]->matched = true;
		r->v[i]->taken_by = decides;
		if (decides == r->n)
			decides = i;
	}
	if (decides == r->n)
		return (struct rule_choice){0};
	r->v[decides]->decided = true;
	return r->v[decides]->choice;
}

enum met { NOT_MET, MAY_BE_MET, MET };

static bool is_known_early(const char *key)
{
	return strcmp(key, "pid") == 0 || strcmp(key, "user") == 0;
}

static enum met conditions_met(const struct rule *rule, const struct label *labels, size_t n)
{
	enum met met = MET;

	for (size_t i = 0; i < rule->n_conditions; i++) {
		const struct label *c = &rule->conditions[i];
		const char *value = value_of(labels, n, c->key);

		if (!is_known_early(c->key))
			met = MAY_BE_MET;
		else if (!value || !glob_matches(c->value, value))
			return NOT_MET;
	}
	return met;
}

/*
 * The first rule that matches decides. One that depends on labels that are not known yet counts as a match, unless it
 * would leave the target out.
 */
bool rules_leave_out(const struct rules *r, const struct label *labels, size_t n)
{
	for (size_t i = 0; i < r->n; i++) {
		enum met met = conditions_met(r->v[i], labels, n);

		if (met == MET || (met == MAY_BE_MET && !r->v[i]->choice.leave_out))
			return r->v[i]->choice.leave_out;
	}
	return false;
}

static const char *missing_label(const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_conditions; i++)
		if (!rule->seen[i])
			return rule->conditions[i].key;
	return NULL;
}

/* Whether rules_leave_out() decides before the other labels are known. */
static bool decides_early(const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_conditions; i++)
		if (!is_known_early(rule->conditions[i].key))
			return false;
	return rule->choice.leave_out;
}

bool rules_idle(const struct rules *r, size_t i, char *dst, size_t size)
{
	const struct rule *rule = r->v[i];
	const char *label = missing_label(rule), *name = rule->choice.rule;

	if (rule->decided || decides_early(rule))
		return false;
	if (rule->matched)
		snprintf(dst, size,
			 "%s: rule '%s' has decided on no JVM so far: rule '%s', which comes before it, decides on "
			 "those that it matches",
			 rule->where, name, r->v[rule->taken_by]->choice.rule);
	else if (label)
		snprintf(dst, size, "%s: rule '%s' has matched no JVM so far: none has the label '%s'", rule->where,
			 name, label);
	else
		snprintf(dst, size, "%s: rule '%s' has matched no JVM so far", rule->where, name);
	return true;
}
