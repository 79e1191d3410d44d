#include "sampler/cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <string.h>

#include "sampler/cli/habits.h"
#include "sampler/engine/engine.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

/* Rates above this cost more than they tell, and the kernel's own limit is near. */
#define MAX_HZ 10000
#define SECOND_NS UINT64_C(1000000000)
#define MIN_PAUSE_NS UINT64_C(50000) /* no thread stops sooner for certain */

static const struct option_spec specs[] = {
	{'p', "pid", "PID", "process to sample (repeat, or separate by commas)", NULL, false},
	{'d', "duration", "TIME", "how long: 30, 30s, 5m, 1h", "until Ctrl-C or the target ends", false},
	{'F', "freq", "HZ", "samples per second of CPU time of each thread", "99", false},
	{'r', "rate", "HZ", NULL, NULL, false},
	{'i', "interval", "TIME", "the same as a period: 10ms, 500us", NULL, false},
	{'e', "event", "EVENT", "cpu, wall, or any event that `perf list` names", "cpu", false},
	{'c', "count", "N", "period of an event other than cpu", NULL, false},
	{0, "engine", "NAME", "perf; suspend: stops threads, needs no perf events",
	 "perf, where it is permitted", false},
	{'o', "output", "FILE", "format by ending; %p PID, %t time; - is stdout; repeatable", NULL, false},
	{'f', "format", "FORMAT", "format of the outputs, whatever their names end in", NULL, false},
	{'t', "threads", NULL, "the thread, [name tid=N], as root frame", NULL, false},
	{0, "states", NULL, "the thread's state as root frame (-e wall)", NULL, false},
	{0, "include-threads", "REGEX", "only threads whose name matches", NULL, false},
	{'I', "include", "REGEX", "keep only stacks with a frame that matches", NULL, false},
	{'X', "exclude", "REGEX", "drop stacks with a frame that matches", NULL, false},
	{0, "children", NULL, "sample the processes that the target starts, too", "with -- COMMAND", false},
	{0, "no-children", NULL, "leave them out", "with -p", false},
	{0, "slices", "TIME", "keep time slices apart: warm-up, in .html and report --timeline", NULL, false},
	{0, "lines", NULL, ":LINE behind Java frames", NULL, false},
	{0, "no-annotate", NULL, "no _[j], _[i], _[0], _[1], _[k] behind frames", NULL, false},
	{0, "no-kernel", NULL, "leave kernel frames out", NULL, false},
	{0, "raw-names", NULL, "names of hidden classes as the JVM has them", NULL, false},
	{0, "depth", "N", "frames kept, from the leaf, inlined ones too; deeper ones: [truncated]", "2048", false},
	{0, "max-memory", "SIZE", "for stacks and code that is gone; then [storage limit]", "512M", false},
	{0, "max-pause", "TIME", "suspend engine: longest stop of a thread", "2ms", false},
	{0, "bridge", "WHEN", "agent in the JVM: auto (if it is loaded), on (load it), off", "auto", false},
	{0, "command-line", NULL, "keep the target's whole command line in the files; it may hold secrets", NULL, false},
	{0, "symbols", "SOURCE", "vm or bridge: where names of compiled code come from", "vm", false},
	{'q', "quiet", NULL, "errors only", NULL, false},
	{'v', "verbose", NULL, "say more (repeatable)", NULL, false},
	{'h', "help", NULL, "this text", NULL, false},
	{'V', "version", NULL, "version", NULL, false},
	{0, NULL, NULL, NULL, NULL, false},
};

const struct option_spec *record_option_specs(void)
{
	return specs;
}

static int parse_pid(const char *text, struct record_options *o, struct err *err)
{
	uint64_t pid;

	if (parse_u64(text, 1, INT32_MAX, &pid) < 0)
		return err_set(err, -EINVAL, "'%s' is not a PID", text);
	for (size_t i = 0; i < o->n_pids; i++)
		if (o->pids[i] == (pid_t)pid)
			return 0; /* twice is once */
	if (o->n_pids == MAX_PIDS)
		return err_set(err, -EINVAL, "more than %d PIDs", MAX_PIDS);
	o->pids[o->n_pids++] = (pid_t)pid;
	return 0;
}

/* "1,2,3" */
static int parse_pids(const char *text, struct record_options *o, struct err *err)
{
	char one[24];
	int r = 0;

	if (!*text)
		return err_set(err, -EINVAL, "-p needs a PID");
	for (size_t n; *text && r == 0; text += n) {
		text += strspn(text, ",");
		n = strcspn(text, ",");
		snprintf(one, sizeof(one), "%.*s", (int)n, text);
		r = n ? parse_pid(one, o, err) : 0;
	}
	return r;
}

static int parse_freq(const char *text, struct record_options *o, struct err *err)
{
	uint64_t hz;

	if (parse_u64(text, 1, MAX_HZ, &hz) < 0)
		return err_set(err, -EINVAL,
			       "-F %s: a whole number of samples per second from 1 to %d", text, MAX_HZ);
	if (o->period_ns)
		return err_set(err, -EINVAL, "-F and -i say the same thing: use one of them, once");
	o->period_ns = SECOND_NS / hz;
	return 0;
}

static int parse_interval(const char *text, struct record_options *o, struct err *err)
{
	uint64_t ns;

	if (parse_duration(text, &ns) < 0)
		return err_set(err, -EINVAL, "-i %s: a time with its unit, such as 10ms or 500us", text);
	if (ns < SECOND_NS / MAX_HZ || ns > SECOND_NS)
		return err_set(err, -EINVAL, "-i %s: from 100us to 1s; a number without a unit is seconds", text);
	if (o->period_ns)
		return err_set(err, -EINVAL, "-F and -i say the same thing: use one of them, once");
	o->period_ns = ns;
	return 0;
}

static int check_regex(const char *option, const char *text, struct err *err)
{
	char why[120];
	regex_t re;
	int r = regcomp(&re, text, REG_EXTENDED | REG_NOSUB);

	if (r == 0) {
		regfree(&re);
		return 0;
	}
	regerror(r, &re, why, sizeof(why));
	return err_set(err, -EINVAL, "--%s '%s': %s", option, text, why);
}

static int add_filter(const char *option, const char *text, const char **list, size_t *n,
		      struct err *err)
{
	if (*n == MAX_FILTERS)
		return err_set(err, -EINVAL, "more than %d --%s", MAX_FILTERS, option);
	list[(*n)++] = text;
	return check_regex(option, text, err);
}

static int add_output(const char *path, struct record_options *o, struct err *err)
{
	if (!*path)
		return err_set(err, -EINVAL, "-o needs the name of a file");
	if (o->n_outputs == MAX_OUTPUTS)
		return err_set(err, -EINVAL, "more than %d outputs", MAX_OUTPUTS);
	o->outputs[o->n_outputs++] = path;
	return habits_check_output(path, err);
}

static int parse_depth(const char *text, struct record_options *o, struct err *err)
{
	uint64_t n;

	if (parse_u64(text, 1, 65536, &n) < 0)
		return err_set(err, -EINVAL, "--depth %s: a number from 1 to 65536", text);
	o->depth = (uint32_t)n;
	return 0;
}

static int parse_slices(const char *text, struct record_options *o, struct err *err)
{
	if (parse_duration(text, &o->slice_ns) < 0)
		return err_set(err, -EINVAL, "--slices %s: a time such as 1s or 500ms", text);
	if (o->slice_ns < SECOND_NS / 100)
		return err_set(err, -EINVAL, "--slices %s: 10ms or more", text);
	return 0;
}

static int parse_engine(const char *text, struct record_options *o, struct err *err)
{
	static const struct engine_ops *const engines[] = {&engine_perf_ops, &engine_suspend_ops};

	o->engine = NULL;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(text, engines[i]->name) == 0)
			o->engine = engines[i];
	return o->engine ? 0 : err_set(err, -EINVAL, "--engine %s: there are perf and suspend", text);
}

static int parse_max_pause(const char *text, uint64_t *ret, struct err *err)
{
	if (parse_duration(text, ret) < 0 || *ret < MIN_PAUSE_NS || *ret > SECOND_NS)
		return err_set(err, -EINVAL, "--max-pause %s: a time from 50us to 1s, such as 2ms", text);
	return 0;
}

static int parse_event(const char *text, struct record_options *o, struct err *err)
{
	if (strcmp(text, "cpu:u") == 0 || strcmp(text, "cpu-clock:u") == 0)
		return err_set(err, -EINVAL, "'-e %s': write -e cpu --no-kernel", text);
	o->event = strcmp(text, "cpu-clock") == 0 ? "cpu" : text;
	return habits_check_event(text, err);
}

static int parse_bridge(const char *text, enum bridge_mode *ret, struct err *err)
{
	static const char *const modes[] = {[BRIDGE_AUTO] = "auto", [BRIDGE_ON] = "on", [BRIDGE_OFF] = "off"};

	for (int i = 0; i <= BRIDGE_OFF; i++) {
		if (strcmp(text, modes[i]) != 0)
			continue;
		*ret = (enum bridge_mode)i;
		return 0;
	}
	return err_set(err, -EINVAL, "--bridge %s: auto, on or off", text);
}

static int parse_symbols(const char *text, bool *ret, struct err *err)
{
	*ret = strcmp(text, "bridge") == 0;
	return *ret || strcmp(text, "vm") == 0 ? 0 : err_set(err, -EINVAL, "--symbols %s: vm or bridge", text);
}

static int parse_value(const struct option_spec *s, const char *arg, struct record_options *o,
		       struct err *err)
{
	const char *n = s->name;

	if (strcmp(n, "pid") == 0)
		return parse_pids(arg, o, err);
	if (strcmp(n, "freq") == 0 || strcmp(n, "rate") == 0)
		return parse_freq(arg, o, err);
	if (strcmp(n, "interval") == 0)
		return parse_interval(arg, o, err);
	if (strcmp(n, "event") == 0)
		return parse_event(arg, o, err);
	if (strcmp(n, "engine") == 0)
		return parse_engine(arg, o, err);
	if (strcmp(n, "max-pause") == 0)
		return parse_max_pause(arg, &o->max_pause_ns, err);
	if (strcmp(n, "output") == 0)
		return add_output(arg, o, err);
	if (strcmp(n, "include") == 0)
		return add_filter(n, arg, o->include, &o->n_include, err);
	if (strcmp(n, "exclude") == 0)
		return add_filter(n, arg, o->exclude, &o->n_exclude, err);
	if (strcmp(n, "include-threads") == 0)
		return check_regex(n, o->include_threads = arg, err);
	if (strcmp(n, "bridge") == 0)
		return parse_bridge(arg, &o->bridge, err);
	if (strcmp(n, "symbols") == 0)
		return parse_symbols(arg, &o->bridge_symbols, err);
	if (strcmp(n, "depth") == 0)
		return parse_depth(arg, o, err);
	if (strcmp(n, "slices") == 0)
		return parse_slices(arg, o, err);
	if (strcmp(n, "format") == 0)
		return habits_check_format(o->format = arg, err);
	if (strcmp(n, "duration") == 0 && parse_duration(arg, &o->duration_ns) < 0)
		return err_set(err, -EINVAL, "-d %s: a time such as 30, 30s, 5m or 1h", arg);
	if (strcmp(n, "max-memory") == 0 && parse_size(arg, &o->max_memory) < 0)
		return err_set(err, -EINVAL, "--max-memory %s: a size such as 256M", arg);
	if (strcmp(n, "count") == 0 && parse_u64(arg, 1, UINT64_MAX >> 1, &o->event_count) < 0)
		return err_set(err, -EINVAL, "-c %s: a number of events, at least 1", arg);
	return 0;
}

static void set_flag(const struct option_spec *s, struct record_options *o)
{
	static const struct {
		const char *name;
		size_t offset;
	} flags[] = {
		{"children", offsetof(struct record_options, children)},
		{"no-children", offsetof(struct record_options, no_children)},
		{"threads", offsetof(struct record_options, threads)},
		{"states", offsetof(struct record_options, states)},
		{"lines", offsetof(struct record_options, lines)},
		{"raw-names", offsetof(struct record_options, raw_names)},
		{"no-annotate", offsetof(struct record_options, no_annotate)},
		{"no-kernel", offsetof(struct record_options, no_kernel)},
		{"command-line", offsetof(struct record_options, command_line)},
		{"quiet", offsetof(struct record_options, quiet)},
		{"help", offsetof(struct record_options, help)},
		{"version", offsetof(struct record_options, version)},
	};

	if (strcmp(s->name, "verbose") == 0)
		o->verbose++;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(s->name, flags[i].name) == 0)
			*(bool *)((char *)o + flags[i].offset) = true;
}

int record_option_take(const struct option_spec *s, struct record_options *o, struct err *err)
{
	if (!s->arg) {
		set_flag(s, o);
		return 0;
	}
	return parse_value(s, optarg, o, err);
}

/* A number behind a PID is meant as something else: jstat takes an interval there. */
static int extra_number(const char *arg, const struct record_options *o, struct err *err)
{
	return err_set(err, -EINVAL, "'%.40s' behind PID %d: for a duration, -d %.40s; for several processes, -p %d,%.40s",
		       arg, (int)o->pids[0], arg, (int)o->pids[0], arg);
}

static int parse_target(const char *arg, struct record_options *o, struct err *err)
{
	uint64_t pid;

	if (parse_u64(arg, 1, INT32_MAX, &pid) == 0)
		return o->n_pids ? extra_number(arg, o, err) : parse_pid(arg, o, err);
	if (o->target_name)
		return err_set(err, -EINVAL, "one process at a time by name, not '%.80s' and '%.80s' "
					     "(jsampler help lists the commands)", o->target_name, arg);
	o->target_name = arg;
	return 0;
}

static int split_command(int *argc, char **argv, struct record_options *o, struct err *err)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		if (i + 1 == *argc)
			return err_set(err, -EINVAL, "a command must follow --");
		o->command = argv + i + 1;
		*argc = i;
		return 0;
	}
	return 0;
}

static int check_event(const struct record_options *o, struct err *err)
{
	bool wall = strcmp(o->event, "wall") == 0, time = wall || strcmp(o->event, "cpu") == 0;

	if (time && o->event_count)
		return err_set(err, -EINVAL, "-c goes with an event other than %s; for %s use -F or -i",
			       o->event, o->event);
	if (!time && o->period_ns)
		return err_set(err, -EINVAL, "-e %s takes its period from -c, not from -F or -i",
			       o->event);
	if (wall && o->engine == &engine_perf_ops)
		return err_set(err, -EINVAL, "-e wall goes with --engine suspend: perf does not see "
					     "threads that wait");
	if (!time && o->engine == &engine_suspend_ops)
		return err_set(err, -EINVAL, "-e %s goes with --engine perf: suspend has cpu and wall", o->event);
	if (o->max_pause_ns && (!time || o->engine == &engine_perf_ops))
		return err_set(err, -EINVAL, "--max-pause goes with --engine suspend: perf stops no threads");
	if (o->states && !wall)
		return err_set(err, -EINVAL, "--states goes with -e wall: with -e %s every thread runs", o->event);
	return 0;
}

static int check_together(const struct record_options *o, struct err *err)
{
	bool attach = o->n_pids || o->target_name;

	if (o->command && attach)
		return err_set(err, -EINVAL, "either a running process or a command behind --, not both");
	if (!o->command && !attach)
		return err_set(err, -EINVAL, "which process? -p PID, the main class or jar of a running "
					     "JVM, or -- COMMAND");
	if (o->children && o->no_children)
		return err_set(err, -EINVAL, "--children or --no-children, not both");
	if (o->children && (o->engine == &engine_suspend_ops || strcmp(o->event, "wall") == 0))
		return err_set(err, -EINVAL, "--children goes with --engine perf: suspend follows no child processes; "
					     "name them with -p");
	if (o->bridge_symbols && o->bridge == BRIDGE_OFF)
		return err_set(err, -EINVAL, "--symbols bridge needs the bridge: not with --bridge off");
	if (o->n_pids && o->target_name)
		return err_set(err, -EINVAL, "'%.80s' besides a PID: by PID or by name, not both "
					     "(jsampler help lists the commands)", o->target_name);
	return check_event(o, err);
}

/* "jsampler -d 5 java -jar x.jar": the program that somebody wants started; NULL: nothing like it. */
static const char *forgotten_command(int argc, char **argv)
{
	struct option_tables t;
	char shorts[sizeof(t.shorts) + 1];

	option_tables_make(specs, &t);
	snprintf(shorts, sizeof(shorts), "+%s", t.shorts); /* ends at the first that is no option */
	optind = 0;
	while (getopt_long(argc, argv, shorts, t.longs, NULL) != -1)
		;
	return optind + 1 < argc && habits_is_command(argv[optind]) ? argv[optind] : NULL;
}

int record_options_parse(int argc, char **argv, struct record_options *ret, struct err *err)
{
	struct record_options o = {.event = "cpu"};
	const struct option_spec *s = NULL;
	int r = split_command(&argc, argv, &o, err);
	const char *command = o.command ? NULL : forgotten_command(argc, argv);

	optind = 0;
	while (r == 0 && (r = option_next(argc, argv, specs, &s, err)) == 0 && s)
		r = record_option_take(s, &o, err);
	for (; r == 0 && optind < argc; optind++)
		r = parse_target(argv[optind], &o, err);
	if (r == 0 && !o.help && !o.version)
		r = check_together(&o, err);
	if (r < 0 && command)
		return err_set(err, -EINVAL, "to start a command, put -- in front of it: jsampler %s-- %.100s ...",
			       command == argv[1] ? "" : "... ", command);
	if (r < 0)
		return r;
	if (!o.period_ns)
		o.period_ns = SECOND_NS / 99;
	*ret = o;
	return 0;
}
