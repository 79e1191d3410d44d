#ifndef JS_CLI_OPTIONS_H
#define JS_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sampler/session/bridge.h"

struct engine_ops;
struct err;

/*
 * The options of a command, from one table: parsing, --help, man pages and shell completion read it.
 */
struct option_spec {
	char letter; /* 0: long form only */
	const char *name;
	const char *arg; /* what stands for the argument in help; NULL: none */
	const char *help; /* one sentence; NULL: not shown */
	const char *fallback; /* default, as help shows it; NULL: none */
	bool later; /* accepted by later builds; here it answers "not in this build" */
};

/* Each ends with a NULL name. */
const struct option_spec *record_option_specs(void);
const struct option_spec *list_option_specs(void);
const struct option_spec *doctor_option_specs(void);
const struct option_spec *convert_option_specs(void);
const struct option_spec *report_option_specs(void);
const struct option_spec *diff_option_specs(void);
const struct option_spec *help_option_specs(void);

/* getopt_long's two tables, made from one of these; what it returns is for option_of(). */
enum { OPTION_LONG_BASE = 256, OPTION_SPECS_MAX = 48 };

struct option_tables {
	struct option longs[OPTION_SPECS_MAX + 1];
	char shorts[3 * OPTION_SPECS_MAX + 2];
};

void option_tables_make(const struct option_spec *specs, struct option_tables *ret);
const struct option_spec *option_of(const struct option_spec *specs, int c); /* NULL: unknown */
/* One step of a command's parsing: the next option, NULL at their end. -EINVAL: the message says
 * what is right. Set optind to 0 before the first. */
int option_next(int argc, char **argv, const struct option_spec *specs, const struct option_spec **ret,
		struct err *err);

enum { MAX_PIDS = 64, MAX_OUTPUTS = 16, MAX_FILTERS = 32 };

struct output_option {
	const char *path; /* "-": stdout */
};

struct record_options {
	pid_t pids[MAX_PIDS];
	size_t n_pids;
	const char *target_name; /* last argument that is not a PID: main class or jar */
	char **command; /* behind "--"; NULL: none */

	uint64_t duration_ns; /* 0: until Ctrl-C */
	uint64_t period_ns; /* from -F or -i */
	uint64_t event_count; /* -c; 0: not given */
	uint64_t slice_ns; /* --slices; 0: none */
	const char *event;
	const char *outputs[MAX_OUTPUTS];
	size_t n_outputs;
	const char *format; /* -f; NULL: by ending */

	bool children, no_children; /* as asked for */
	bool threads, states, lines, raw_names, no_annotate, no_kernel, command_line;
	const struct engine_ops *engine; /* NULL: perf, or what is permitted */
	uint64_t max_pause_ns; /* 0: the engine's own */
	const char *include_threads;
	const char *include[MAX_FILTERS], *exclude[MAX_FILTERS];
	size_t n_include, n_exclude;
	enum bridge_mode bridge;
	bool bridge_symbols;
	uint32_t depth;
	uint64_t max_memory;
	bool quiet;
	int verbose;
	bool help, version;
};

/* Parses argv[1..] (argv[0] is the command's name). -EINVAL: wrong usage, the message says what
 * is right. Strings are borrowed from argv. */
int record_options_parse(int argc, char **argv, struct record_options *ret, struct err *err);
/* One option that option_next() gave, for commands that share some with record. */
int record_option_take(const struct option_spec *s, struct record_options *o, struct err *err);

#endif
