#ifndef JS_CLI_OPTIONS_OPTIONS_H
#define JS_CLI_OPTIONS_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/session.h"

struct err;

/* The options of a command, in one table: parsing, --help, man pages and shell completion use it. */
struct option_spec {
	char letter; /* 0: long form only */
	const char *name;
	const char *arg; /* name of the argument in help; NULL: no argument */
	const char *help; /* one sentence; NULL: not shown */
	const char *fallback; /* the default as shown in help; NULL: none */
};

/* Each ends with a NULL name. */
extern const struct option_spec record_option_specs[];
extern const struct option_spec list_option_specs[];
extern const struct option_spec capture_option_specs[];
extern const struct option_spec daemon_option_specs[];
extern const struct option_spec doctor_option_specs[];
extern const struct option_spec convert_option_specs[];
extern const struct option_spec report_option_specs[];
extern const struct option_spec diff_option_specs[];
extern const struct option_spec help_option_specs[];

/* The two tables for getopt_long(), made from an option table. option_of() maps what it returns. */
enum { OPTION_LONG_BASE = 256, OPTION_SPECS_MAX = 48 };

struct option_tables {
	struct option longs[OPTION_SPECS_MAX + 1];
	char shorts[3 * OPTION_SPECS_MAX + 2];
};

void option_tables_make(const struct option_spec *specs, struct option_tables *ret);
const struct option_spec *option_of(const struct option_spec *specs, int c); /* NULL: unknown */
/*
 * Returns the next option of a command, or NULL at the end. -EINVAL: the message says what is right. Set optind to 0
 * before the first call.
 */
int option_next(int argc, char **argv, const struct option_spec *specs, const struct option_spec **ret,
		struct err *err);

enum { MAX_PIDS = 64, MAX_OUTPUTS = 16, MAX_FILTERS = 32 };

struct record_options {
	pid_t pids[MAX_PIDS];
	size_t n_pids;
	const char *target_name; /* the argument that is not a PID: main class or jar */
	char **command; /* after "--"; NULL: none */

	struct session_options session; /* set by options; `record` completes it */
	uint64_t duration_ns; /* 0: until Ctrl-C */
	uint64_t period_ns; /* from -F or -i, for cpu and wall */
	uint64_t event_count; /* from -c, for other events; 0: not given */
	const char *outputs[MAX_OUTPUTS];
	size_t n_outputs;
	const char *format; /* from -f; NULL: by file name ending */

	bool children, no_children; /* as given */
	bool no_annotate;
	const char *include[MAX_FILTERS], *exclude[MAX_FILTERS];
	size_t n_include, n_exclude;
	bool quiet;
	int verbose;
	bool help, version;
};

/*
 * Parses argv[1..] (argv[0] is the command's name). -EINVAL: wrong usage; the message says what is right. Strings are
 * borrowed from argv.
 */
int record_options_parse(int argc, char **argv, struct record_options *ret, struct err *err);

#endif
