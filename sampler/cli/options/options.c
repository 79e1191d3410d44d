#include "sampler/cli/options/options.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>

#include "sampler/cli/options/hints.h"
#include "sampler/cli/options/record_values.h"
#include "sampler/engine/engine.h"
#include "sampler/engine/frequency.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

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
		return o->n_pids ? extra_number(arg, pid, o, err) : record_value_pid(arg, o, err);
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
