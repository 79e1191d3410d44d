#include "sampler/daemon/config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/config/config_files.h"
#include "sampler/daemon/config/config_keys.h"
#include "sampler/daemon/config/config_rule.h"
#include "sampler/daemon/config/ini.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/err.h"

/* Limit of reported problems; further ones are only counted. */
enum { PROBLEMS_SHOWN = 20 };

struct loading {
	struct config *c;
	config_problem_fn *problem;
	void *ctx;
	size_t problems;
	const char *file;
	char section[16]; /* the current one */
	struct config_rule rule;
	unsigned lines[CONFIG_KEYS]; /* line in this file where each key was set; 0: not yet */
};

static void report(struct loading *l, const char *text)
{
	if (++l->problems <= PROBLEMS_SHOWN)
		l->problem(l->ctx, text);
	else if (l->problems == PROBLEMS_SHOWN + 1)
		l->problem(l->ctx, "there are more problems; they are not shown");
}

static void on_problem(void *ctx, unsigned line, const char *text)
{
	struct loading *l = ctx;
	char whole[800];

	snprintf(whole, sizeof(whole), "%.300s:%u: %s", l->file, line, text);
	report(l, whole);
}

static int on_section(void *ctx, unsigned line, const char *section, const char *name, struct err *err)
{
	struct loading *l = ctx;
	char where[340];
	int r;

	snprintf(l->section, sizeof(l->section), "%s", section);
	if (strcmp(section, "rule") == 0) {
		snprintf(where, sizeof(where), "%.300s:%u", l->file, line);
		return config_rule_begin(&l->rule, name, where, err);
	}
	r = config_section_find(section, err);
	if (r == 0 && *name)
		return err_set(err, -EINVAL, "[%s %.60s]: this section has no name; write [%s]", section, name,
			       section);
	return r;
}

static int on_setting(void *ctx, unsigned line, const char *key, const char *value, struct err *err)
{
	struct loading *l = ctx;
	int i;

	if (strcmp(l->section, "rule") == 0)
		return config_rule_set(&l->rule, key, value, err);
	i = config_key_find(l->section, key, err);
	if (i < 0)
		return i;
	if (l->lines[i])
		return err_set(err, -EEXIST, "%s: it is in line %u already; remove one of them", key, l->lines[i]);
	l->lines[i] = line;
	return config_key_set(l->c, i, value, err);
}

static void read_text(void *ctx, const char *file, const char *text, size_t len)
{
	struct loading *l = ctx;
	const struct ini_reader reader = {l, on_section, on_setting, on_problem};

	l->file = file;
	memset(l->lines, 0, sizeof(l->lines));
	ini_read(text, len, &reader);
}

static void no_file(void *ctx, const char *text)
{
	report(ctx, text);
}

static int begin(struct loading *l)
{
	l->c = calloc(1, sizeof(*l->c));
	if (!l->c || !(l->c->rules = rules_new())) {
		config_free(l->c);
		l->problem(l->ctx, "out of memory");
		return -ENOMEM;
	}
	l->rule.rules = l->c->rules;
	config_defaults(l->c);
	return 0;
}

/* `file`: a name for all files together. */
static int end(struct loading *l, const char *file, struct config **ret)
{
	struct err err;
	char whole[800];

	if (!l->problems && config_agrees(l->c, &err) < 0) {
		snprintf(whole, sizeof(whole), "%.300s: %s", file, err.msg);
		report(l, whole);
	}
	if (l->problems) {
		config_free(l->c);
		return -EINVAL;
	}
	*ret = l->c;
	return 0;
}

int config_parse(const char *file, const char *text, size_t len, config_problem_fn *problem, void *ctx,
		 struct config **ret)
{
	struct loading l = {.problem = problem, .ctx = ctx};
	int r = begin(&l);

	if (r < 0)
		return r;
	read_text(&l, file, text, len);
	return end(&l, file, ret);
}

int config_load(const char *path, config_problem_fn *problem, void *ctx, struct config **ret)
{
	struct loading l = {.problem = problem, .ctx = ctx};
	int r = begin(&l);

	if (r < 0)
		return r;
	config_files_read(path, read_text, no_file, &l);
	return end(&l, path, ret);
}

void config_free(struct config *c)
{
	if (!c)
		return;
	rules_free(c->rules);
	free(c);
}
