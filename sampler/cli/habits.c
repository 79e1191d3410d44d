#include "sampler/cli/habits.h"

#include <errno.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"

struct habit {
	const char *word, *advice;
};

static const char *advice_for(const struct habit *habits, const char *word)
{
	for (; habits->word; habits++)
		if (strcmp(habits->word, word) == 0)
			return habits->advice;
	return NULL;
}

/* Formats of the design that other builds have. */
static int check_known_format(const char *format, struct err *err)
{
	static const char *const later[] = {"pprof", "speedscope", NULL};
	char names[128];

	if (writer_find(format))
		return 0;
	for (const char *const *l = later; *l; l++)
		if (strcmp(*l, format) == 0)
			return err_set(err, -EINVAL, "the format %s is not in this build", format);
	writer_names(names, sizeof(names));
	return err_set(err, -EINVAL, "unknown format '%s'; there are: %s", format, names);
}

int habits_check_output(const char *path, struct err *err)
{
	static const struct habit habits[] = {
		{"collapsed", "-o takes a file: -o out.folded, or -f folded -o FILE"},
		{"flamegraph", "-o takes a file: -o out.html"},
		{"tree", "-o takes a file: -o out.html, and `jsampler report --tree FILE` for text"},
		{"text", "-o takes a file: -o out.txt"},
		{"flat", "-o takes a file: -o out.txt"},
		{"traces", "-o takes a file: -o out.folded"},
		{"jfr", "JFR files are not written; pprof is: -o out.pb.gz"},
		{NULL, NULL},
	};
	const char *advice = advice_for(habits, path);
	size_t n = strlen(path);

	if (advice)
		return err_set(err, -EINVAL, "'-o %s': %s", path, advice);
	if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
		return err_set(err, -EINVAL, "'-o %s': write -o FILE.html; the page exports SVG", path);
	if (n > 4 && strcmp(path + n - 4, ".jfr") == 0)
		return err_set(err, -EINVAL, "'-o %s': JFR files are not written; try .pb.gz", path);
	return 0;
}

int habits_check_format(const char *format, struct err *err)
{
	static const struct habit habits[] = {
		{"collapsed", "folded"}, {"flamegraph", "html"}, {"raw", "folded"},
		{"svg", "html"},	 {"traces", "folded"},	 {"flat", "text"},
		{NULL, NULL},
	};
	const char *same = advice_for(habits, format);

	if (same)
		return err_set(err, -EINVAL, "'-f %s': the format is called %s here", format, same);
	if (strchr(format, '.') || strchr(format, '/'))
		return err_set(err, -EINVAL, "'-f %s': -f takes a format; to write a file: -o %s", format,
			       format);
	return check_known_format(format, err);
}

int habits_check_event(const char *event, struct err *err)
{
	static const struct habit habits[] = {
		{"itimer", "-e cpu needs no timer signal"},
		{"ctimer", "-e cpu needs no timer signal"},
		{"alloc", "allocations are not sampled; -e cpu"},
		{"lock", "locks are not sampled; -e cpu"},
		{NULL, NULL},
	};
	const char *advice = advice_for(habits, event);

	if (!*event)
		return err_set(err, -EINVAL, "-e needs the name of an event");
	return advice ? err_set(err, -EINVAL, "'-e %s': %s", event, advice) : 0;
}

int habits_unknown_option(const char *arg, struct err *err)
{
	static const struct habit habits[] = {
		{"--native", "native frames are always there"},
		{"--gil", "that is a matter of Python"},
		{"--idle", "for threads that wait: -e wall"},
		{"--subprocesses", "children of the target are not sampled; give each PID with -p"},
		{"-g", "stacks are always recorded"},
		{"--call-graph", "stacks are always recorded"},
		{"--cstack", "native frames are always there"},
		{"--file", "-o FILE"},
		{"--title", "there is no title to set"},
		{"--reverse", "the page turns upside down by itself: key i"},
		{"--simple", "names are shown whole"},
		{"--ann", "frames are annotated unless --no-annotate"},
		{"--all-user", "--no-kernel"},
		{NULL, NULL},
	};
	const char *advice = advice_for(habits, arg);

	if (advice)
		return err_set(err, -EINVAL, "no option %s: %s", arg, advice);
	return err_set(err, -EINVAL, "no option %s (jsampler help lists them)", arg);
}

int habits_check_command(const char *word, struct err *err)
{
	static const struct habit habits[] = {
		{"start", "jsampler runs until Ctrl-C, or for a time: jsampler -p PID -d 30"},
		{"stop", "end the running jsampler with Ctrl-C or SIGTERM: it writes its profile"},
		{"status", "jsampler keeps nothing in the target: there is nothing to ask"},
		{"collect", "jsampler -p PID -d 30 -o FILE"},
		{"attach", "jsampler -p PID"},
		{"script", "jsampler -p PID -o FILE.folded"},
		{"report", "not in this build"},
		{"diff", "not in this build"},
		{"convert", "not in this build"},
		{"top", "not in this build"},
		{"dump", "not in this build"},
		{NULL, NULL},
	};
	const char *advice = advice_for(habits, word);

	return advice ? err_set(err, -EINVAL, "%s: %s", word, advice) : 0;
}
