#include "sampler/cli/options/record_values.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sampler/cli/options/hints.h"
#include "sampler/cli/options/options.h"
#include "sampler/engine/engine.h"
#include "sampler/engine/frequency.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

/* Higher rates cost more than they are worth, and come near the kernel's limit. */
#define MAX_HZ 10000
#define SECOND_NS UINT64_C(1000000000)
#define MIN_PAUSE_NS UINT64_C(50000) /* stopping a thread may take this long */

int record_value_pid(const char *text, struct record_options *o, struct err *err)
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
		r = n ? record_value_pid(one, o, err) : 0;
	}
	return r;
}

static int set_period(uint64_t ns, struct record_options *o, struct err *err)
{
	if (o->period_ns)
		return err_set(err, -EINVAL, "-F and -i set the same thing: use one of them, once");
	o->period_ns = ns;
	return 0;
}

static int parse_freq(const char *text, struct record_options *o, struct err *err)
{
	uint64_t hz;

	if (parse_u64(text, 1, MAX_HZ, &hz) < 0)
		return err_set(err, -EINVAL, "-F %s: a whole number of samples per second from 1 to %d", text, MAX_HZ);
	return set_period(frequency_period_ns(hz), o, err);
}

static int parse_interval(const char *text, struct record_options *o, struct err *err)
{
	uint64_t ns;

	if (parse_duration(text, &ns) < 0)
		return err_set(err, -EINVAL, "-i %s: a time with its unit, such as 10ms or 500us", text);
	if (ns < SECOND_NS / MAX_HZ || ns > SECOND_NS)
		return err_set(err, -EINVAL, "-i %s: from 100us to 1s; a number without a unit is seconds", text);
	return set_period(ns, o, err);
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

int record_value_output(const char *path, const char **list, size_t *n, size_t max, struct err *err)
{
	if (!*path)
		return err_set(err, -EINVAL, "-o needs the name of a file");
	if (*n == max)
		return err_set(err, -EINVAL, "more than %zu outputs", max);
	list[(*n)++] = path;
	return 0;
}

static int add_output(const char *path, struct record_options *o, struct err *err)
{
	int r = record_value_output(path, o->outputs, &o->n_outputs, MAX_OUTPUTS, err);

	return r < 0 ? r : hints_check_output(path, err);
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

static int parse_max_pause(const char *text, struct record_options *o, struct err *err)
{
	uint64_t *ret = &o->session.engine_options.max_pause_ns;

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

static int parse_bridge(const char *text, struct record_options *o, struct err *err)
{
	static const char *const modes[] = {[BRIDGE_AUTO] = "auto", [BRIDGE_ON] = "on", [BRIDGE_OFF] = "off"};

	for (int i = 0; i <= BRIDGE_OFF; i++) {
		if (strcmp(text, modes[i]) != 0)
			continue;
		o->session.bridge = (enum bridge_mode)i;
		return 0;
	}
	return err_set(err, -EINVAL, "--bridge %s: auto, on or off", text);
}

static int parse_symbols(const char *text, struct record_options *o, struct err *err)
{
	bool bridge = strcmp(text, "bridge") == 0;

	o->session.show.bridge_symbols = bridge;
	return bridge || strcmp(text, "vm") == 0 ? 0 : err_set(err, -EINVAL, "--symbols %s: vm or bridge", text);
}

static int add_include(const char *text, struct record_options *o, struct err *err)
{
	return add_filter("include", text, o->include, &o->n_include, err);
}

static int add_exclude(const char *text, struct record_options *o, struct err *err)
{
	return add_filter("exclude", text, o->exclude, &o->n_exclude, err);
}

static int set_include_threads(const char *text, struct record_options *o, struct err *err)
{
	o->session.include_threads = text;
	return check_regex("include-threads", text, err);
}

static int set_format(const char *text, struct record_options *o, struct err *err)
{
	o->format = text;
	return hints_check_format(text, err);
}

static int parse_length(const char *text, struct record_options *o, struct err *err)
{
	if (parse_duration(text, &o->duration_ns) < 0)
		return err_set(err, -EINVAL, "-d %s: a time such as 30, 30s, 5m or 1h", text);
	return 0;
}

static int parse_max_memory(const char *text, struct record_options *o, struct err *err)
{
	if (parse_size(text, &o->session.profile.max_bytes) < 0)
		return err_set(err, -EINVAL, "--max-memory %s: a size such as 256M", text);
	return 0;
}

static int parse_count(const char *text, struct record_options *o, struct err *err)
{
	if (parse_u64(text, 1, UINT64_MAX >> 1, &o->event_count) < 0)
		return err_set(err, -EINVAL, "-c %s: a number of events, at least 1", text);
	return 0;
}

static const struct {
	const char *option;
	int (*take)(const char *text, struct record_options *o, struct err *err);
} values[] = {
	{"pid", parse_pids},
	{"duration", parse_length},
	{"freq", parse_freq},
	{"rate", parse_freq},
	{"interval", parse_interval},
	{"event", parse_event},
	{"count", parse_count},
	{"engine", parse_engine},
	{"output", add_output},
	{"format", set_format},
	{"include-threads", set_include_threads},
	{"include", add_include},
	{"exclude", add_exclude},
	{"slices", parse_slices},
	{"depth", parse_depth},
	{"max-memory", parse_max_memory},
	{"max-pause", parse_max_pause},
	{"bridge", parse_bridge},
	{"symbols", parse_symbols},
};

/* In a table of options, but not parsed. */
static int not_parsed(const struct option_spec *s, struct err *err)
{
	return err_set(err, -ENOSYS, "--%s has no effect in this version of jsampler", s->name);
}

static int take_value(const struct option_spec *s, const char *text, struct record_options *o, struct err *err)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (strcmp(s->name, values[i].option) == 0)
			return values[i].take(text, o, err);
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
	return s->arg ? take_value(s, optarg, o, err) : set_flag(s, o, err);
}
