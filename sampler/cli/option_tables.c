#include "sampler/cli/options.h"

#include <errno.h>
#include <string.h>

#include "sampler/cli/habits.h"
#include "symbolizer/base/err.h"

static const struct option_spec list_specs[] = {
	{'f', "format", "text|json", "what to write", "text", false},
	{0, "json", NULL, NULL, NULL, false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec doctor_specs[] = {
	{'p', "pid", "PID", "look at this process too", NULL, false},
	{'f', "format", "text|json", "what to write", "text", false},
	{0, "json", NULL, NULL, NULL, false},
	{0, "no-attach", NULL, "do not ask the JVM for its own thread dump", NULL, false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec report_specs[] = {
	{0, "flat", NULL, "methods by their own time, with its sampling error at 95 % (default)", NULL, false},
	{0, "top", NULL, NULL, NULL, false},
	{0, "tree", NULL, "calls from the root on", NULL, false},
	{0, "callers", "METHOD", "who calls it, on to the root", NULL, false},
	{0, "callees", "METHOD", "what it calls, on to the leaf", NULL, false},
	{0, "lines", "METHOD", "its source lines", NULL, false},
	{0, "tiers", NULL, "time in the interpreter, C1, C2, inlined; why it is interpreted", NULL, false},
	{0, "threads", NULL, "threads by their time", NULL, false},
	{0, "timeline", NULL, "tiers over time, first compiled at (record --slices)", NULL, false},
	{'n', "rows", "N", "at most so many rows; 0: all", "50 as text, all as json or csv", false},
	{'I', "include", "REGEX", "keep only stacks with a frame that matches", NULL, false},
	{'X', "exclude", "REGEX", "drop stacks with a frame that matches", NULL, false},
	{0, "include-threads", "REGEX", "only threads whose name matches", NULL, false},
	{0, "least", "PERCENT", "trees: leave out branches with less of all samples", "0.5", false},
	{'f', "format", "text|json|csv", "what to write", "text", false},
	{'o', "output", "FILE", "where to write it; - is stdout", "-", false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec diff_specs[] = {
	{'o', "output", "FILE", "by ending: .html (two-sided flame graph), .txt, .json, .csv; repeatable", "-", false},
	{'f', "format", "text|json|csv|html", "what to write, whatever names end in", NULL, false},
	{0, "fail-if", "EXPR", "exit status 3 if so: 'self(com/acme/**) > +3pt'; repeatable", NULL, false},
	{0, "min-effect", "POINTS", "leave out smaller changes of share", "1 with one file a side, else 0", false},
	{0, "by-total", NULL, "judge methods by their time with what they call, not by their own", NULL, false},
	{'n', "rows", "N", "at most so many rows of text; 0: all", "50", false},
	{0, "all", NULL, "text: rows that chance explains, too", NULL, false},
	{0, "tiers", NULL, "interpreted against compiled: time and speed-up of each method", NULL, false},
	{0, "work", "FACTOR", "--tiers: the after side did so many times the work", "1", false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec convert_specs[] = {
	{'o', "output", "FILE", "format by ending; - is stdout; repeatable", NULL, false},
	{'f', "format", "FORMAT", "format of the outputs, whatever their names end in", NULL, false},
	{'I', "include", "REGEX", "keep only stacks with a frame that matches", NULL, false},
	{'X', "exclude", "REGEX", "drop stacks with a frame that matches", NULL, false},
	{0, "include-threads", "REGEX", "only threads whose name matches", NULL, false},
	{0, "kind", "KIND", "only stacks whose leaf is interpreted, C1, C2, inlined, native, kernel or stub", NULL, false},
	{0, "lines", NULL, ":LINE behind Java frames", "as the files show it", false},
	{0, "no-annotate", NULL, "no _[j], _[i], _[0], _[1], _[k] behind frames", NULL, false},
	{'q', "quiet", NULL, "errors only", NULL, false},
	{'h', "help", NULL, "this text", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

static const struct option_spec help_specs[] = {
	{0, "man", NULL, "the manual page's source (roff) instead of text", NULL, false},
	{0, "completion", "bash|zsh|fish", "a script that makes this shell complete with TAB", NULL, false},
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

const struct option_spec *report_option_specs(void)
{
	return report_specs;
}

const struct option_spec *diff_option_specs(void)
{
	return diff_specs;
}

const struct option_spec *convert_option_specs(void)
{
	return convert_specs;
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
