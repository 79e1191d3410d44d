#include "sampler/cli/options/options.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <signal.h>
#include <string.h>

#include "sampler/cli/options/hints.h"
#include "sampler/engine/engine.h"
#include "sampler/engine/frequency.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

/* Higher rates cost more than they are worth, and come near the kernel's limit. */
#define MAX_HZ 10000
#define SECOND_NS UINT64_C(1000000000)
#define MIN_PAUSE_NS UINT64_C(50000) /* stopping a thread may take this long */

const struct option_spec record_option_specs[] = {
	{'p', "pid", "PID", "process to sample (repeat, or separate by commas)", NULL},
	{'d', "duration", "TIME", "how long to sample: 30, 30s, 5m, 1h", "until Ctrl-C or the target ends"},
	{'F', "freq", "HZ", "samples per second of CPU time of each thread", "99"},
	{'r', "rate", "HZ", NULL, NULL},
	{'i', "interval", "TIME", "the period instead of -F: 10ms, 500us", NULL},
	{'e', "event", "EVENT", "cpu, wall, or any event that `perf list` names", "cpu"},
	{'c', "count", "N", "period of an event other than cpu", NULL},
	{0, "engine", "NAME", "perf; suspend: stops threads, needs no perf events", "perf, where it is permitted"},
	{'o', "output", "FILE", "format by ending; %p PID, %t time; - is stdout; repeatable", NULL},
	{'f', "format", "FORMAT", "format of the outputs, whatever their names end in", NULL},
	{'t', "threads", NULL, "make the thread, [name tid=N], the root frame", NULL},
	{0, "states", NULL, "make the thread's state the root frame (-e wall)", NULL},
	{0, "include-threads", "REGEX", "only threads whose name matches", NULL},
	{'I', "include", "REGEX", "keep only stacks with a frame that matches", NULL},
	{'X', "exclude", "REGEX", "drop stacks with a frame that matches", NULL},
	{0, "children", NULL, "sample the processes that the target starts, too", "with -- COMMAND"},
	{0, "no-children", NULL, "do not sample them", "with -p"},
	{0, "only-jvm", NULL, "refuse a process that is not a JVM; end when it becomes another program", NULL},
	{0, "slices", "TIME", "keep time slices apart, for .html and report --timeline", NULL},
	{0, "lines", NULL, "append :LINE to Java frames", NULL},
	{0, "no-annotate", NULL, "do not append _[j], _[i], _[0], _[1], _[k] to frames", NULL},
	{0, "no-kernel", NULL, "leave out kernel frames", NULL},
	{0, "raw-names", NULL, "keep the JVM's own names of hidden classes", NULL},
	{0, "depth", "N", "frames kept from the leaf, with inlined ones; deeper ones: [truncated]", "2048"},
	{0, "max-memory", "SIZE", "limit for stacks and unloaded code; beyond it [storage limit]", "512M"},
	{0, "max-pause", "TIME", "suspend engine: longest stop of a thread", "2ms"},
	{0, "bridge", "WHEN", "agent in the JVM: auto (if it is loaded), on (load it), off", "auto"},
	{0, "command-line", NULL, "store the target's whole command line, which may hold secrets", NULL},
	{0, "symbols", "SOURCE", "vm or bridge: where names of compiled code come from", "vm"},
	{'q', "quiet", NULL, "print errors only", NULL},
	{'v', "verbose", NULL, "print more (repeatable)", NULL},
	{'h', "help", NULL, "show this help", NULL},
	{'V', "version", NULL, "show the version", NULL},
	{0, NULL, NULL, NULL, NULL},
};

static int parse_pid(const char *text, struct record_options *o, struct err *err)
{
	uint64_t pid;

	if (parse_u64(text, 1, INT32_MAX, &pid) < 0)
		return err_set(err, -EINVAL, "'%s' is not a PID", text);
	for (size_t i = 0; i < o->n_pids; i++)
		if (o->pids[i] == (pid_t)pid)
			return 0; /* duplicate */
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
		return err_set(err, -EINVAL, "-F %s: a whole number of samples per second from 1 to %d", text, MAX_HZ);
	if (o->period_ns)
		return err_set(err, -EINVAL, "-F and -i set the same thing: use one of them, once");
	o->period_ns = frequency_period_ns(hz);
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
		return err_set(err, -EINVAL, "-F and -i set the same thing: use one of them, once");
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

static int add_filter(const char *option, const char *text, const char **list, size_t *n, struct err *err)
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
	return hints_check_output(path, err);
}

static int parse_depth(const char *text, struct record_options *o, struct err *err)
{
	uint64_t n;

	if (parse_u64(text, 1, 65536, &n) < 0)
		return err_set(err, -EINVAL, "--depth %s: a number from 1 to 65536", text);
	o->session.profile.depth = (uint32_t)n;
	return 0;
}

static int parse_slices(const char *text, struct record_options *o, struct err *err)
{
	if (parse_duration(text, &o->session.slice_ns) < 0)
		return err_set(err, -EINVAL, "--slices %s: a time such as 1s or 500ms", text);
	if (o->session.slice_ns < SECOND_NS / 100)
		return err_set(err, -EINVAL, "--slices %s: 10ms or more", text);
	return 0;
}

static int parse_engine(const char *text, struct record_options *o, struct err *err)
{
	static const struct engine_ops *const engines[] = {&engine_perf_ops, &engine_suspend_ops};

	o->session.engine = NULL;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(text, engines[i]->name) == 0)
			o->session.engine = engines[i];
	return o->session.engine ? 0 : err_set(err, -EINVAL, "--engine %s: perf or suspend", text);
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
	o->session.engine_options.event = strcmp(text, "cpu-clock") == 0 ? "cpu" : text;
	return hints_check_event(text, err);
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

/* In a table of options, but not parsed. */
static int not_parsed(const struct option_spec *s, struct err *err)
{
	return err_set(err, -ENOSYS, "--%s has no effect in this version of jsampler", s->name);
}

static int parse_value(const struct option_spec *s, const char *arg, struct record_options *o, struct err *err)
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
		return parse_max_pause(arg, &o->session.engine_options.max_pause_ns, err);
	if (strcmp(n, "output") == 0)
		return add_output(arg, o, err);
	if (strcmp(n, "include") == 0)
		return add_filter(n, arg, o->include, &o->n_include, err);
	if (strcmp(n, "exclude") == 0)
		return add_filter(n, arg, o->exclude, &o->n_exclude, err);
	if (strcmp(n, "include-threads") == 0)
		return check_regex(n, o->session.include_threads = arg, err);
	if (strcmp(n, "bridge") == 0)
		return parse_bridge(arg, &o->session.bridge, err);
	if (strcmp(n, "symbols") == 0)
		return parse_symbols(arg, &o->session.show.bridge_symbols, err);
	if (strcmp(n, "depth") == 0)
		return parse_depth(arg, o, err);
	if (strcmp(n, "slices") == 0)
		return parse_slices(arg, o, err);
	if (strcmp(n, "format") == 0)
		return hints_check_format(o->format = arg, err);
	if (strcmp(n, "duration") == 0)
		return parse_duration(arg, &o->duration_ns) == 0 ?
			       0 :
			       err_set(err, -EINVAL, "-d %s: a time such as 30, 30s, 5m or 1h", arg);
	if (strcmp(n, "max-memory") == 0)
		return parse_size(arg, &o->session.profile.max_bytes) == 0 ?
			       0 :
			       err_set(err, -EINVAL, "--max-memory %s: a size such as 256M", arg);
	if (strcmp(n, "count") == 0)
		return parse_u64(arg, 1, UINT64_MAX >> 1, &o->event_count) == 0 ?
			       0 :
			       err_set(err, -EINVAL, "-c %s: a number of events, at least 1", arg);
	return not_parsed(s, err);
}

static int set_flag(const struct option_spec *s, struct record_options *o, struct err *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} flags[] = {
		{"children", offsetof(struct record_options, children)},
		{"no-children", offsetof(struct record_options, no_children)},
		{"only-jvm", offsetof(struct record_options, session.only_jvm)},
		{"threads", offsetof(struct record_options, session.show.thread_root)},
		{"states", offsetof(struct record_options, session.show.state_root)},
		{"lines", offsetof(struct record_options, session.show.lines)},
		{"raw-names", offsetof(struct record_options, session.show.raw_names)},
		{"no-annotate", offsetof(struct record_options, no_annotate)},
		{"command-line", offsetof(struct record_options, session.command_line)},
		{"quiet", offsetof(struct record_options, quiet)},
		{"help", offsetof(struct record_options, help)},
		{"version", offsetof(struct record_options, version)},
	};

	if (strcmp(s->name, "verbose") == 0) {
		o->verbose++;
		return 0;
	}
	if (strcmp(s->name, "no-kernel") == 0) {
		o->session.engine_options.kernel = false;
		return 0;
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(s->name, flags[i].name) != 0)
			continue;
		*(bool *)((char *)o + flags[i].offset) = true;
		return 0;
	}
	return not_parsed(s, err);
}

int record_option_take(const struct option_spec *s, struct record_options *o, struct err *err)
{
	return s->arg ? parse_value(s, optarg, o, err) : set_flag(s, o, err);
}

static bool is_process(uint64_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/* A number beside a PID probably means something else: for jstat it is an interval. */
static int extra_number(const char *arg, uint64_t number, const struct record_options *o, struct err *err)
{
	if (is_process(number) && !is_process((uint64_t)o->pids[0]))
		return err_set(err, -EINVAL, "there is no process %d; for a duration, -d %d -p %.40s", (int)o->pids[0],
			       (int)o->pids[0], arg);
	return err_set(err, -EINVAL,
		       "'%.40s' after PID %d: for a duration, -d %.40s; for several processes, -p %d,%.40s", arg,
		       (int)o->pids[0], arg, (int)o->pids[0], arg);
}

static int parse_target(const char *arg, struct record_options *o, struct err *err)
{
	uint64_t pid;

	if (parse_u64(arg, 1, INT32_MAX, &pid) == 0)
		return o->n_pids ? extra_number(arg, pid, o, err) : parse_pid(arg, o, err);
	if (o->target_name)
		return err_set(err, -EINVAL,
			       "only one process can be given by name, not both '%.80s' and '%.80s' "
			       "(jsampler help lists the commands)",
			       o->target_name, arg);
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

static bool is_time(const char *event)
{
	return strcmp(event, "wall") == 0 || strcmp(event, "cpu") == 0;
}

static int check_event(const struct record_options *o, struct err *err)
{
	const struct session_options *so = &o->session;
	const char *event = so->engine_options.event;
	bool wall = strcmp(event, "wall") == 0, time = is_time(event);

	if (time && o->event_count)
		return err_set(err, -EINVAL, "-c needs an event other than %s; for %s use -F or -i", event, event);
	if (!time && o->period_ns)
		return err_set(err, -EINVAL, "-e %s takes its period from -c, not from -F or -i", event);
	if (wall && so->engine == &engine_perf_ops)
		return err_set(err, -EINVAL,
			       "-e wall needs --engine suspend: perf does not see "
			       "threads that wait");
	if (!time && so->engine == &engine_suspend_ops)
		return err_set(err, -EINVAL, "-e %s needs --engine perf: suspend has cpu and wall only", event);
	if (so->engine_options.max_pause_ns && (!time || so->engine == &engine_perf_ops))
		return err_set(err, -EINVAL, "--max-pause needs --engine suspend: perf stops no threads");
	if (so->show.state_root && !wall)
		return err_set(err, -EINVAL, "--states needs -e wall: with -e %s every sampled thread is running",
			       event);
	return 0;
}

static int check_together(const struct record_options *o, struct err *err)
{
	const struct session_options *so = &o->session;
	bool attach = o->n_pids || o->target_name;

	if (o->command && attach)
		return err_set(err, -EINVAL, "either a running process or a command after --, not both");
	if (!o->command && !attach)
		return err_set(err, -EINVAL,
			       "which process? -p PID, the main class or jar of a running "
			       "JVM, or -- COMMAND");
	if (o->children && o->no_children)
		return err_set(err, -EINVAL, "--children or --no-children, not both");
	if (o->children && (so->engine == &engine_suspend_ops || strcmp(so->engine_options.event, "wall") == 0))
		return err_set(err, -EINVAL,
			       "--children needs --engine perf: suspend follows no child processes; "
			       "name them with -p");
	if (so->show.bridge_symbols && so->bridge == BRIDGE_OFF)
		return err_set(err, -EINVAL, "--symbols bridge needs the bridge: not with --bridge off");
	if (o->n_pids && o->target_name)
		return err_set(err, -EINVAL,
			       "'%.80s' in addition to a PID: give a PID or a name, not both "
			       "(jsampler help lists the commands)",
			       o->target_name);
	return check_event(o, err);
}

/* "jsampler -d 5 java -jar x.jar": the command that the user wants to start; NULL: none. */
static const char *forgotten_command(int argc, char **argv)
{
	struct option_tables t;
	char shorts[sizeof(t.shorts) + 1];

	option_tables_make(record_option_specs, &t);
	snprintf(shorts, sizeof(shorts), "+%s", t.shorts); /* stop at the first non-option */
	optind = 0;
	while (getopt_long(argc, argv, shorts, t.longs, NULL) != -1)
		;
	return optind + 1 < argc && hints_is_command(argv[optind]) ? argv[optind] : NULL;
}

int record_options_parse(int argc, char **argv, struct record_options *ret, struct err *err)
{
	struct record_options o = {
		.session = {.engine_options = {.event = "cpu", .kernel = true}, .profile.threads = true},
	};
	const struct option_spec *s = NULL;
	int r = split_command(&argc, argv, &o, err);
	const char *command = o.command ? NULL : forgotten_command(argc, argv);

	optind = 0;
	while (r == 0 && (r = option_next(argc, argv, record_option_specs, &s, err)) == 0 && s)
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
		o.period_ns = frequency_period_ns(99);
	o.session.engine_options.period = is_time(o.session.engine_options.event) ? o.period_ns : o.event_count;
	*ret = o;
	return 0;
}
