#include "sampler/daemon/config/config_rule.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sampler/daemon/config/config_keys.h"
#include "sampler/daemon/identity/identity.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

enum { RULE_NAME_MAX = 64 };

/* For names of rules and labels: only characters that never need quoting. */
static bool is_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
			return false;
	return n > 0 && n <= RULE_NAME_MAX;
}

int config_rule_begin(struct config_rule *r, const char *name, const char *where, struct err *err)
{
	if (!*name)
		return err_set(err, -EINVAL, "[rule]: a rule needs a name: [rule NAME]");
	if (!is_name(name))
		return err_set(err, -EINVAL, "[rule %.60s]: a name has up to %d letters, digits, '_', '-' and '.'",
			       name, RULE_NAME_MAX);
	r->done = 0;
	return rules_add(r->rules, name, where, err);
}

static int set_sample(struct rule_choice *c, const char *value)
{
	bool sample;

	if (config_parse_bool(value, &sample) < 0)
		return -EINVAL;
	c->leave_out = !sample;
	return 0;
}

static int set_wall(struct rule_choice *c, const char *value)
{
	return config_parse_bool(value, &c->wall);
}

static int set_frequency(struct rule_choice *c, const char *value)
{
	uint64_t hz;
	int r = parse_u64(value, CONFIG_RULE_HZ_MIN, CONFIG_HZ_MAX, &hz);

	if (r == 0)
		c->frequency = (uint32_t)hz;
	return r;
}

static int set_engine(struct rule_choice *c, const char *value)
{
	c->suspend = strcmp(value, "suspend") == 0;
	return c->suspend || strcmp(value, "perf") == 0 ? 0 : -EINVAL;
}

static const struct {
	const char *key;
	int (*set)(struct rule_choice *c, const char *value);
	const char *takes;
} actions[] = {
	{"sample", set_sample, "yes or no"},
	{"frequency", set_frequency, "samples for each second of CPU time, from 1 to 1000"},
	{"engine", set_engine, "perf or suspend"},
	{"wall", set_wall, "yes or no"},
};
enum { ACTIONS = sizeof(actions) / sizeof(*actions) };

static int unknown_key(const char *key, struct err *err)
{
	struct buf all = {0};

	for (size_t i = 0; i < ACTIONS; i++)
		buf_printf(&all, "%s, ", actions[i].key);
	for (const char *const *label = identity_keys(); *label; label++)
		buf_printf(&all, "%s, ", *label);
	err_set(err, -ENOENT, "%.60s: there is no such key in a rule; there are %sand label.NAME", key,
		all.data ? all.data : "");
	buf_done(&all);
	return -ENOENT;
}

static bool is_identity(const char *key)
{
	for (const char *const *label = identity_keys(); *label; label++)
		if (strcmp(*label, key) == 0)
			return true;
	return false;
}

/* A configured label must not be mistaken for a detected one. */
static int set_label(struct rules *r, const char *name, const char *value, struct err *err)
{
	if (!is_name(name))
		return err_set(err, -EINVAL, "a name has up to %d letters, digits, '_', '-' and '.'", RULE_NAME_MAX);
	if (is_identity(name))
		return err_set(err, -EINVAL, "jsampler gives this label itself; choose another name");
	if (strlen(value) > IDENTITY_VALUE_MAX)
		return err_set(err, -EINVAL, "a value has at most %d bytes", IDENTITY_VALUE_MAX);
	return rules_label(r, name, value, err);
}

static int set_action(struct config_rule *r, size_t i, const char *value, struct err *err)
{
	struct rule_choice *c = rules_last(r->rules);

	if (r->done & 1u << i)
		return err_set(err, -EEXIST, "%s: it is in this rule already; remove one of them", actions[i].key);
	r->done |= 1u << i;
	if (actions[i].set(c, value) < 0)
		return err_set(err, -EINVAL, "%s = %.80s: it takes %s", actions[i].key, value, actions[i].takes);
	if (c->suspend && c->wall)
		return err_set(err, -EINVAL,
			       "engine = suspend and wall = yes: only one process can stop the threads of a JVM");
	return 0;
}

int config_rule_set(struct config_rule *r, const char *key, const char *value, struct err *err)
{
	int e;

	for (size_t i = 0; i < ACTIONS; i++)
		if (strcmp(actions[i].key, key) == 0)
			return set_action(r, i, value, err);
	if (strncmp(key, "label.", 6) == 0)
		e = set_label(r->rules, key + 6, value, err);
	else if (is_identity(key))
		e = rules_condition(r->rules, key, value, err);
	else
		return unknown_key(key, err);
	return e < 0 ? err_wrap(err, e, "%s", key) : 0;
}
