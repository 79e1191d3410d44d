#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/cli/cmd.h"
#include "sampler/cli/daemon/daemon_get.h"
#include "sampler/cli/daemon/daemon_targets.h"
#include "sampler/cli/options/options.h"
#include "sampler/daemon/captures/captures.h"
#include "sampler/output/data_out.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/patterns/glob.h"

#define SECOND_NS UINT64_C(1000000000)
#define POLL_NS (SECOND_NS / 2)

/* LATE_S: what the daemon may take to name and to keep what it has sampled. */
enum { LATE_S = 40, STATE_MAX = 16 };

struct capture_args {
	const char *target, *output, *format, *socket;
	uint64_t hz, seconds, id;
	bool list, help;
};

/* --- usage --- */

static int take_option(const struct option_spec *s, struct capture_args *a, struct err *err)
{
	const char *n = s->name;
	uint64_t ns;

	a->list |= strcmp(n, "list") == 0;
	a->help |= strcmp(n, "help") == 0;
	if (strcmp(n, "output") == 0)
		a->output = optarg;
	else if (strcmp(n, "format") == 0)
		a->format = optarg;
	else if (strcmp(n, "socket") == 0)
		a->socket = optarg;
	else if (strcmp(n, "frequency") == 0 && parse_u64(optarg, 1, CAPTURE_HZ_MAX, &a->hz) < 0)
		return err_set(err, -EINVAL, "-F %.20s: must be from 1 to %d samples per second of CPU time", optarg,
			       CAPTURE_HZ_MAX);
	else if (strcmp(n, "duration") == 0) {
		if (parse_duration(optarg, &ns) < 0 || ns < SECOND_NS || ns > CAPTURE_SECONDS_MAX * SECOND_NS)
			return err_set(err, -EINVAL, "-d %.20s: must be a time from 1s to %dm", optarg,
				       CAPTURE_SECONDS_MAX / 60);
		a->seconds = ns / SECOND_NS;
	} else if (strcmp(n, "get") == 0 && parse_u64(optarg, 1, INT64_MAX, &a->id) < 0)
		return err_set(err, -EINVAL, "--get %.20s: must be a number that jsampler capture --list shows",
			       optarg);
	return 0;
}

static int choose_format(struct capture_args *a, struct err *err)
{
	const struct writer *w = a->format ? writer_find(a->format) : a->output ? writer_for_path(a->output) : NULL;
	char names[128];

	writer_names(names, sizeof(names));
	if (a->format && !w)
		return err_set(err, -EINVAL, "-f %.40s: one of %s", a->format, names);
	if (!w && a->output && strcmp(a->output, "-") != 0)
		return err_set(err, -EINVAL, "-o %.200s: unknown file name ending; give the format with -f: %s",
			       a->output, names);
	a->format = w ? w->name : "folded";
	return 0;
}

static int parse(int argc, char **argv, struct capture_args *a, struct err *err)
{
	const struct option_spec *s = NULL;
	int r;

	*a = (struct capture_args){.hz = CAPTURE_HZ, .seconds = CAPTURE_SECONDS};
	optind = 0;
	while ((r = option_next(argc, argv, capture_option_specs, &s, err)) == 0 && s)
		if ((r = take_option(s, a, err)) < 0)
			break;
	if (r < 0 || a->help)
		return r;
	if (optind < argc)
		a->target = argv[optind++];
	if (optind < argc)
		return err_set(err, -EINVAL, "%.80s: capture takes one target", argv[optind]);
	if (a->list + !!a->id + !!a->target != 1)
		return err_set(err, -EINVAL,
			       "capture takes a PID, a service that jsampler list shows, --list, or --get ID");
	return choose_format(a, err);
}

/* --- which process --- */

static int find_pid(const struct capture_args *a, uint64_t *ret, struct err *err)
{
	daemon_targets all = {0};
	size_t n = 0;

	if (parse_u64(a->target, 1, INT32_MAX, ret) == 0)
		return 0;
	daemon_targets_read(a->socket, &all);
	for (size_t i = 0; i < all.n; i++)
		if (glob_matches(a->target, all.v[i].service)) {
			n += !n || *ret != (uint64_t)all.v[i].pid;
			*ret = (uint64_t)all.v[i].pid;
		}
	vec_done(&all);
	if (n == 1)
		return 0;
	return n ? err_set(err, -EINVAL, "%zu running programs are called '%.80s': give a PID (jsampler list)", n,
			   a->target) :
		   err_set(err, -ENOENT, "the daemon samples no running program called '%.80s' (jsampler list)",
			   a->target);
}

/* --- what the daemon says --- */

static int begin(const struct capture_args *a, uint64_t pid, uint64_t *ret_id, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	char path[120];
	size_t len = 0;
	int r;

	snprintf(path, sizeof(path), "/api/v1/captures?pid=%" PRIu64 "&frequency=%" PRIu64 "&seconds=%" PRIu64, pid,
		 a->hz, a->seconds);
	r = daemon_post(a->socket, path, &bytes, &len, err);
	if (r < 0)
		return r;
	return sscanf(bytes, "{\"id\":%" SCNu64, ret_id) == 1 ?
		       0 :
		       err_set(err, -EPROTO, "malformed answer from the daemon");
}

static int ask_list(const struct capture_args *a, char **ret, struct err *err)
{
	size_t len = 0;

	return daemon_ask(a->socket, "/api/v1/captures?format=text", ret, &len, err);
}

/* 1: it is running; 0: it has ended, and fetch() finds out how; or -errno. */
static int is_running(const struct capture_args *a, uint64_t id, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	char line[48];
	const char *found;
	int r = ask_list(a, &bytes, err);

	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "%" PRIu64 "\trunning\t", id);
	found = strstr(bytes, line);
	return found && (found == bytes || found[-1] == '\n');
}

static int wait_for(const struct capture_args *a, uint64_t id, struct err *err)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	uint64_t end = clock_monotonic_ns() + (a->seconds + LATE_S) * SECOND_NS;
	int r;

	if (a->seconds > 1)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = (time_t)a->seconds - 1}, NULL);
	while ((r = is_running(a, id, err)) > 0) {
		if (clock_monotonic_ns() > end)
			return err_set(err, -ETIME,
				       "the capture does not end; jsampler capture --get %" PRIu64 " asks again", id);
		nanosleep(&pause, NULL);
	}
	return r;
}

/* --- what is written --- */

static int fetch(const struct capture_args *a, uint64_t id, FILE *out, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	char path[100];
	size_t len = 0;
	int fd, r;

	snprintf(path, sizeof(path), "/api/v1/captures/%" PRIu64 "?format=%s", id, a->format);
	fd = daemon_get_start(a->socket ? a->socket : DAEMON_SOCKET, path, err);
	r = fd < 0 ? fd : daemon_get_finish(fd, &bytes, &len, err);
	if (r == 0 && fwrite(bytes, 1, len, out) != len)
		r = err_set(err, -errno, "cannot write: %m");
	return r;
}

static int record(struct capture_args *a, FILE *out, struct err *err)
{
	uint64_t id = a->id, pid = 0;
	int r = 0;

	if (!id) {
		r = find_pid(a, &pid, err);
		if (r == 0)
			r = begin(a, pid, &id, err);
		if (r == 0)
			log_info("capture %" PRIu64 ": PID %" PRIu64 " for %" PRIu64 " s", id, pid, a->seconds);
		if (r == 0)
			r = wait_for(a, id, err);
	}
	return r < 0 ? r : fetch(a, id, out, err);
}

static int capture(struct capture_args *a, struct err *err)
{
	struct data_out out;
	int r = data_out_open(&out, a->output, err);

	return r < 0 ? r : data_out_close(&out, record(a, out.stream, err), err);
}

/* The daemon's lines are text: why a capture has failed contains no control characters. */
static int list(const struct capture_args *a, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	int r = ask_list(a, &bytes, err);

	if (r < 0)
		return r;
	printf("%-13s %-8s %7s %9s %7s %9s %s\n", "ID", "STATE", "PID", "FREQUENCY", "SECONDS", "BYTES", "WHY");
	for (char *rest = bytes, *line; (line = strsep(&rest, "\n")) && *line;) {
		char state[STATE_MAX] = "", why[200] = "";
		uint64_t id, size;
		unsigned pid, hz, seconds;

		if (sscanf(line, "%" SCNu64 " %15s %u %u %u %" SCNu64 " %199[^\n]", &id, state, &pid, &hz, &seconds,
			   &size, why) >= 6)
			printf("%-13" PRIu64 " %-8s %7u %9u %7u %9" PRIu64 " %s\n", id, state, pid, hz, seconds, size,
			       why);
	}
	return 0;
}

int cmd_capture(int argc, char **argv)
{
	struct capture_args a;
	struct err err = {0};
	int r;

	if (parse(argc, argv, &a, &err) < 0)
		return cmd_fail(EXIT_USAGE, &err);
	if (a.help)
		return cmd_help_on("capture");
	r = a.list ? list(&a, &err) : capture(&a, &err);
	return r < 0 ? cmd_fail(EXIT_FAILED, &err) : cmd_end(0);
}
