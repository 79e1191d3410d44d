#include "sampler/cli/options/options.h"

#include <errno.h>
#include <string.h>

#include "sampler/cli/options/hints.h"
#include "symbolizer/base/err.h"

const struct option_spec list_option_specs[] = {
	{'f', "format", "text|json", "output format", "text"},
	{0, "json", NULL, NULL, NULL},
	{0, "socket", "FILE", "the daemon's socket", "/run/jsampler/jsampler.sock"},
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

const struct option_spec capture_option_specs[] = {
	{'F', "frequency", "HZ", "samples per second of CPU time, from 1 to 1000", "99"},
	{'d', "duration", "TIME", "how long: 30, 30s, 5m; 10m at most", "30s"},
	{'o', "output", "FILE", "output file, whose ending selects the format; - is stdout", "-"},
	{'f', "format", "FORMAT", "output format, whatever the file's name ends in", "folded on stdout"},
	{0, "list", NULL, "list the captures that the daemon has kept", NULL},
	{0, "get", "ID", "instead of a new one, write the capture with this number", NULL},
	{0, "socket", "FILE", "the daemon's socket", "/run/jsampler/jsampler.sock"},
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

const struct option_spec daemon_option_specs[] = {
	{0, "config", "FILE", "configuration", "/etc/jsampler/jsampler.conf, if there is one"},
	{0, "check", NULL, "only read the configuration, and report its mistakes", NULL},
	{0, "foreground", NULL, "stay in the foreground (it always does)", NULL},
	{'v', "verbose", NULL, "say more; twice: even more", NULL},
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

const struct option_spec doctor_option_specs[] = {
	{'p', "pid", "PID", "check this process, too", NULL},
	{'f', "format", "text|json", "output format", "text"},
	{0, "json", NULL, NULL, NULL},
	{0, "no-attach", NULL, "do not ask the JVM for its own thread dump", NULL},
	{0, "socket", "FILE", "the daemon's socket", "/run/jsampler/jsampler.sock"},
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

/* What the daemon has kept, for the commands that read profiles: history.h. */
/* clang-format off */
#define SINCE {0, "since", "TIME", "read what the daemon has kept, not files: 30m (ago), 3:07, 2026-11-24T03:07", NULL}
#define OF_HISTORY \
	{0, "service", "PATTERN", "with --since: only programs of that service", "all"}, \
	{0, "label", "KEY=PATTERN", "with --since: only programs with that label; repeatable", NULL}, \
	{0, "event", "cpu|wall", "with --since: wall: all threads, if a rule says wall = yes", "cpu"}, \
	{0, "store", "DIR", "with --since: read the files of a daemon, running or not", NULL}, \
	{0, "socket", "FILE", "with --since: the daemon's socket", "/run/jsampler/jsampler.sock"}
/* clang-format on */

const struct option_spec report_option_specs[] = {
	{0, "flat", NULL, "methods by self time, with the sampling error at 95 % (default)", NULL},
	{0, "top", NULL, NULL, NULL},
	{0, "tree", NULL, "call tree from the root", NULL},
	{0, "callers", "METHOD", "its callers, up to the root", NULL},
	{0, "callees", "METHOD", "its callees, down to the leaves", NULL},
	{0, "lines", "METHOD", "its source lines", NULL},
	{0, "tiers", NULL, "time in the interpreter, C1, C2, inlined; why it is interpreted", NULL},
	{0, "threads", NULL, "threads by time", NULL},
	{0, "timeline", NULL, "tiers over time, first compiled at (record --slices)", NULL},
	{'n', "rows", "N", "at most N rows; 0: all", "50 as text, all as json or csv"},
	{'I', "include", "REGEX", "keep only stacks with a frame that matches", NULL},
	{'X', "exclude", "REGEX", "drop stacks with a frame that matches", NULL},
	{0, "include-threads", "REGEX", "only threads whose name matches", NULL},
	{0, "least", "PERCENT", "trees: leave out branches with a smaller share of all samples", "0.5"},
	{'f', "format", "text|json|csv", "output format", "text"},
	{'o', "output", "FILE", "output file; - is stdout", "-"},
	SINCE,
	{0, "until", "TIME", "the end of that range", "now"},
	OF_HISTORY,
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

const struct option_spec diff_option_specs[] = {
	{'o', "output", "FILE", "by ending: .html (two-sided flame graph), .txt, .json, .csv; repeatable", "-"},
	{'f', "format", "text|json|csv|html", "output format, whatever the names of files end in", NULL},
	{0, "fail-if", "EXPR", "exit with status 3 if this holds: 'self(com/acme/**) > +3pt'; repeatable", NULL},
	{0, "min-effect", "POINTS", "leave out smaller changes of share", "1 with one file a side, else 0"},
	{0, "by-total", NULL, "compare methods by total time, callees included, not by self time", NULL},
	{'n', "rows", "N", "at most N rows of text; 0: all", "50"},
	{0, "all", NULL, "text: show changes that chance explains, too", NULL},
	{0, "tiers", NULL, "interpreted against compiled: time and speed-up of each method", NULL},
	{0, "work", "FACTOR", "--tiers: the after side did FACTOR times the work", "1"},
	SINCE,
	{0, "until", "TIME", "the end of that range, which is the after side", "now"},
	{0, "against", "TIME", "the before side: a range of the same length that begins then", "the one just before"},
	OF_HISTORY,
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

const struct option_spec convert_option_specs[] = {
	{'o', "output", "FILE", "format by ending; - is stdout; repeatable", NULL},
	{'f', "format", "FORMAT", "format of the outputs, whatever their names end in", NULL},
	{'I', "include", "REGEX", "keep only stacks with a frame that matches", NULL},
	{'X', "exclude", "REGEX", "drop stacks with a frame that matches", NULL},
	{0, "include-threads", "REGEX", "only threads whose name matches", NULL},
	{0, "kind", "KIND", "only stacks whose leaf is interpreted, C1, C2, inlined, native, kernel or stub", NULL},
	{0, "lines", NULL, "append :LINE to Java frames", "as the files show it"},
	{0, "no-annotate", NULL, "do not append _[j], _[i], _[0], _[1], _[k] to frames", NULL},
	SINCE,
	{0, "until", "TIME", "the end of that range", "now"},
	OF_HISTORY,
	{'q', "quiet", NULL, "print errors only", NULL},
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

const struct option_spec help_option_specs[] = {
	{0, "man", NULL, "the manual page's source (roff) instead of text", NULL},
	{0, "completion", "bash|zsh|fish", "a completion script for this shell", NULL},
	{'h', "help", NULL, "show this help", NULL},
	{0, NULL, NULL, NULL, NULL},
};

void option_tables_make(const struct option_spec *specs, struct option_tables *t)
{
	char *s = t->shorts;

	memset(t, 0, sizeof(*t));
	*s++ = ':';
	for (size_t i = 0; specs[i].name && i < OPTION_SPECS_MAX; i++) {
		t->longs[i] = (struct option){specs[i].name, specs[i].arg ? 1 : 0, NULL, OPTION_LONG_BASE + (int)i};
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

/* As the user typed it; also "-x" from a bundle "-tx". */
static int refused_option(char **argv, const struct option_spec *specs, struct err *err)
{
	const char bundled[3] = {'-', (char)optopt, '\0'};
	const char *arg = argv[optind - 1];

	if (optopt >= OPTION_LONG_BASE)
		return err_set(err, -EINVAL, "%.80s: --%s takes no argument", arg, option_of(specs, optopt)->name);
	if (optopt > 0 && strncmp(arg, "--", 2) != 0)
		arg = bundled;
	return hints_unknown_option(arg, err);
}

int option_next(int argc, char **argv, const struct option_spec *specs, const struct option_spec **ret, struct err *err)
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
		return refused_option(argv, specs, err);
	return 0;
}
