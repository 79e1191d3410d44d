#include "sampler/cli/options.h"

#include <errno.h>
#include <string.h>

#include "sampler/cli/habits.h"
#include "symbolizer/base/err.h"

static const struct option_spec list_specs[] = {
	{'f', "format", "FORMAT", "text or json", "text", false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec doctor_specs[] = {
	{'p', "pid", "PID", "look at this process too", NULL, false},
	{'f', "format", "FORMAT", "text or json", "text", false},
	{0, "no-attach", NULL, "do not ask the JVM for its own thread dump", NULL, false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec help_specs[] = {
	{0, "man", NULL, "the manual page's source (roff) instead of text", NULL, false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

const struct option_spec *list_option_specs(void)
{
	return list_specs;
}

const struct option_spec *doctor_option_specs(void)
{
	return doctor_specs;
}

const struct option_spec *help_option_specs(void)
{
	return help_specs;
}

void option_tables_make(const struct option_spec *specs, struct option_tables *t)
{
	char *s = t->shorts;

	memset(t, 0, sizeof(*t));
	*s++ = ':';
	for (size_t i = 0; specs[i].name && i < OPTION_SPECS_MAX; i++) {
		t->longs[i] = (struct option){specs[i].name, specs[i].arg ? 1 : 0, NULL,
					      OPTION_LONG_BASE + (int)i};
		if (!specs[i].letter)
			continue;
		*s++ = specs[i].letter;
		if (specs[i].arg)
			*s++ = ':';
	}
}

const struct option_spec *option_of(const struct option_spec *specs, int c)
{
	if (c >= OPTION_LONG_BASE)
		return &specs[c - OPTION_LONG_BASE];
	for (const struct option_spec *s = specs; s->name; s++)
		if (s->letter && s->letter == c)
			return s;
	return NULL;
}

/* What was typed: "-x" out of a bundle "-tx" too. */
static int unknown_option(char **argv, struct err *err)
{
	const char bundled[3] = {'-', (char)optopt, '\0'};
	const char *arg = argv[optind - 1];

	if (optopt > 0 && optopt < OPTION_LONG_BASE && strncmp(arg, "--", 2) != 0)
		arg = bundled;
	return habits_unknown_option(arg, err);
}

int option_next(int argc, char **argv, const struct option_spec *specs, const struct option_spec **ret,
		struct err *err)
{
	struct option_tables t;
	int c;

	option_tables_make(specs, &t);
	c = getopt_long(argc, argv, t.shorts, t.longs, NULL);
	*ret = NULL;
	if (c == -1)
		return 0;
	if (c == ':')
		return err_set(err, -EINVAL, "%s needs an argument", argv[optind - 1]);
	*ret = c == '?' ? NULL : option_of(specs, c);
	if (!*ret)
		return unknown_option(argv, err);
	if ((*ret)->later)
		return err_set(err, -EINVAL, "--%s is not in this build", (*ret)->name);
	return 0;
}
