#include "sampler/cli/options/hints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"

struct foreign_word {
	const char *word, *advice;
};

/* "--option=value" is "--option". */
static const char *advice_for(const struct foreign_word *foreign_words, const char *word)
{
	size_t n = strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);

	for (; foreign_words->word; foreign_words++)
		if (strncmp(foreign_words->word, word, n) == 0 && foreign_words->word[n] == '\0')
			return foreign_words->advice;
	return NULL;
}

static int check_known_format(const char *format, struct err *err)
{
	char names[128];

	if (writer_find(format))
		return 0;
	writer_names(names, sizeof(names));
	return err_set(err, -EINVAL, "unknown format '%s'; there are: %s", format, names);
}

int hints_check_output(const char *path, struct err *err)
{
	static const struct foreign_word foreign_words[] = {
		{"collapsed", "-o takes a file: -o out.folded, or -f folded -o FILE"},
		{"folded", "-o takes a file: -o out.folded, or -f folded -o FILE"},
		{"raw", "-o takes a file: -o out.folded, or -f folded -o FILE"},
		{"traces", "-o takes a file: -o out.folded"},
		{"flamegraph", "-o takes a file: -o out.html"},
		{"html", "-o takes a file: -o out.html"},
		{"tree", "-o takes a file: -o out.html"},
		{"text", "-o takes a file: -o out.txt"},
		{"flat", "-o takes a file: -o out.txt"},
		{"pprof", "-o takes a file: -o out.pb.gz"},
		{"speedscope", "-o takes a file: -o out.speedscope.json"},
		{"jfr", "JFR files are not written; pprof is: -o out.pb.gz"},
		{"otlp", "OTLP is not written; pprof is: -o out.pb.gz"},
		{"chrometrace", "samples have no order in time; -o out.speedscope.json"},
		{NULL, NULL},
	};
	const char *advice = advice_for(foreign_words, path);
	size_t n = strlen(path);

	if (advice)
		return err_set(err, -EINVAL, "'-o %s': %s", path, advice);
	if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
		return err_set(err, -EINVAL, "'-o %s': write -o FILE.html; the page exports SVG", path);
	if (n > 4 && strcmp(path + n - 4, ".jfr") == 0)
		return err_set(err, -EINVAL, "'-o %s': JFR files are not written; try .pb.gz", path);
	return 0;
}

int hints_check_format(const char *format, struct err *err)
{
	static const struct foreign_word foreign_words[] = {
		{"collapsed", "folded"}, {"flamegraph", "html"}, {"raw", "folded"}, {"svg", "html"},
		{"traces", "folded"},    {"flat", "text"},       {NULL, NULL},
	};
	const char *same = advice_for(foreign_words, format);

	if (same)
		return err_set(err, -EINVAL, "'-f %s': the format is called %s here", format, same);
	if (strchr(format, '.') || strchr(format, '/'))
		return err_set(err, -EINVAL, "'-f %s': -f takes a format; to write a file: -o %s", format, format);
	return check_known_format(format, err);
}

int hints_check_event(const char *event, struct err *err)
{
	static const struct foreign_word foreign_words[] = {
		{"itimer", "-e cpu needs no timer signal"},
		{"ctimer", "-e cpu needs no timer signal"},
		{"alloc", "allocations are not sampled; use -e cpu"},
		{"nativemem", "allocations are not sampled; use -e cpu"},
		{"lock", "locks are not sampled; use -e cpu"},
		{"nativelock", "locks are not sampled; use -e cpu"},
		{NULL, NULL},
	};
	const char *advice = advice_for(foreign_words, event);

	if (!*event)
		return err_set(err, -EINVAL, "-e needs the name of an event");
	return advice ? err_set(err, -EINVAL, "'-e %s': %s", event, advice) : 0;
}

/* Options of other profilers, and their equivalents here. */
static const struct foreign_word options_elsewhere[] = {
	/* async-profiler */
	{"--file", "-o FILE"},
	{"--timeout", "-d TIME ends by itself"},
	{"--loop", "run it again and again, with %t in the name: -d 1h -o FILE-%t.html"},
	{"--all", "one event per run: -e cpu, -e wall, or one that perf list names"},
	{"--alloc", "allocations are not sampled"},
	{"--live", "allocations are not sampled"},
	{"--nativemem", "allocations are not sampled"},
	{"--nofree", "allocations are not sampled"},
	{"--lock", "locks are not sampled"},
	{"--nativelock", "locks are not sampled"},
	{"--wall", "-e wall -i 10ms"},
	{"--cpu", "-e cpu is the default; -i for its period"},
	{"--trace", "Java methods are not traced; they are sampled"},
	{"--proc", "other processes are not watched; give each PID with -p, or use --children"},
	{"--cstack", "native frames are always there"},
	{"--jstackdepth", "--depth N"},
	{"-j", "--depth N"},
	{"-b", "there is no buffer to size; --max-memory SIZE bounds what is kept"},
	{"--memlimit", "--max-memory SIZE"},
	{"--chunksize", "JFR files are not written"},
	{"--chunktime", "JFR files are not written"},
	{"--jfrsync", "JFR files are not written; jcmd PID JFR.start runs beside jsampler"},
	{"--jfropts", "JFR files are not written"},
	{"--title", "there is no title to set"},
	{"--minwidth", "the page shows narrow frames when zoomed in"},
	{"--reverse", "in the page, the key i turns the graph upside down"},
	{"--inverted", "in the page, the key i turns the graph upside down"},
	{"--total", "outputs hold samples and time"},
	{"--samples", "outputs hold samples and time"},
	{"--simple", "names are shown whole"},
	{"-s", "names are shown whole"},
	{"--sig", "names are shown without signatures"},
	{"-g", "stacks are always recorded"},
	{"--ann", "frames are annotated unless --no-annotate"},
	{"-a", "frames are annotated unless --no-annotate; all CPUs are not sampled, -p PID is"},
	{"--lib", "a frame without a name is [its library]"},
	{"-l", "a frame without a name is [its library]"},
	{"--norm", "names are normalised unless --raw-names"},
	{"--sched", "scheduling policies are not shown"},
	{"--begin", "it samples from start to Ctrl-C, or for -d TIME"},
	{"--end", "it samples from start to Ctrl-C, or for -d TIME"},
	{"--ttsp", "jsampler needs no safepoints, so there is nothing to measure"},
	{"--nostop", "it samples from start to Ctrl-C, or for -d TIME"},
	{"--libpath", "no library is loaded into the target"},
	{"--fdtransfer", "nothing is loaded into the target; run jsampler as root, or: doctor"},
	{"--signal", "no signal is sent to the target"},
	{"--clock", "times are CLOCK_MONOTONIC"},
	{"--features", "there is nothing to choose about how stacks are walked"},
	{"--filter", "--include-threads REGEX, with thread names"},
	{"--record-cpu", "the CPU of a sample is not kept"},
	{"--all-user", "--no-kernel"},
	{"--loglevel", "-q says less, -v and -vv more"},
	{"-L", "-q says less, -v and -vv more"},
	{"--log", "messages go to stderr: 2> FILE"},
	/* py-spy */
	{"--native", "native frames are always there"},
	{"--gil", "only Python has a GIL"},
	{"--idle", "threads that wait use no CPU time; -e wall shows them too"},
	{"--subprocesses", "--children"},
	{"--nonblocking", "the target is never stopped"},
	{"--function", "frames have no lines unless --lines"},
	{"--nolineno", "frames have no lines unless --lines"},
	{"--full-filenames", "frames have no file names"},
	{"--locals", "values of variables are not read"},
	/* perf */
	{"--call-graph", "stacks are always recorded"},
	{"--all-cpus", "processes are sampled: -p PID"},
	{"-C", "processes are sampled on all CPUs: -p PID"},
	{"-T", "-t for threads"},
	{"-m", "ring buffers are sized automatically"},
	{"--frequency", "-F HZ"},
	{"--no-inherit", "new threads are always sampled; --no-children leaves child processes out"},
	/* of one command here, typed with another */
	{"--json", "report, diff, list and doctor take -f json"},
	{"--sort", "rows are sorted by their own time; --tree, --callers and --callees by total time"},
	{NULL, NULL},
};

int hints_unknown_option(const char *arg, struct err *err)
{
	const char *advice = advice_for(options_elsewhere, arg);

	if (advice)
		return err_set(err, -EINVAL, "there is no option %.80s: %s", arg, advice);
	return err_set(err, -EINVAL, "there is no option %.80s; --help lists all options", arg);
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool hints_is_command(const char *word)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t n;

	if (strchr(word, '/'))
		return is_program(word);
	for (; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (n && snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, word) < (int)sizeof(file) &&
		    is_program(file))
			return true;
	}
	return false;
}

int hints_check_command(const char *word, struct err *err)
{
	static const struct foreign_word foreign_words[] = {
		{"start", "jsampler runs until Ctrl-C, or for a time: jsampler -p PID -d 30"},
		{"resume", "jsampler runs until Ctrl-C, or for a time: jsampler -p PID -d 30"},
		{"stop", "end the running jsampler with Ctrl-C or SIGTERM: it writes its profile"},
		{"status", "jsampler keeps nothing in the target: there is nothing to ask"},
		{"meminfo", "jsampler keeps nothing in the target; its own memory is shown with -v"},
		{"check", "jsampler doctor -p PID"},
		{"collect", "jsampler -p PID -d 30 -o FILE"},
		{"profile", "jsampler -p PID -d 30 -o FILE"},
		{"flamegraph", "jsampler -p PID -d 30 -o FILE.html"},
		{"attach", "jsampler -p PID"},
		{"script", "jsampler -p PID -o FILE.folded"},
		{"stat", "jsampler -p PID; counters are what perf stat is for"},
		{"ps", "jsampler list"},
		{"version", "jsampler --version"},
		{"top", "there is no live view; jsampler -p PID -d 5 shows the hottest methods at its end"},
		{"dump", "jstack PID prints the stacks once"},
		{NULL, NULL},
	};
	const char *advice = advice_for(foreign_words, word);

	return advice ? err_set(err, -EINVAL, "%s: %s", word, advice) : 0;
}
