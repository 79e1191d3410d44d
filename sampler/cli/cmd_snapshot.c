#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "sampler/cli/cmd.h"
#include "sampler/profile/named_builder.h"
#include "sampler/recording/recording.h"
#include "sampler/recording/writer.h"
#include "sampler/output/writer.h"
#include "sampler/session/session.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"

/*
 * Recordings for tests and bug reports: `jsampler snapshot -p PID -o FILE [-n SAMPLES] [-F HZ]`
 * writes one, `jsampler replay FILE` prints its folded stacks.
 */
struct snapshot_options {
	uint64_t pid, samples, hz;
	const char *path;
};

static int parse_snapshot(int argc, char **argv, struct snapshot_options *o)
{
	int c;

	optind = 0;
	while ((c = getopt(argc, argv, "p:o:n:F:")) != -1) {
		if (c == 'o')
			o->path = optarg;
		else if (c == 'p' && parse_u64(optarg, 1, INT32_MAX, &o->pid) == 0)
			continue;
		else if (c == 'n' && parse_u64(optarg, 1, 100000, &o->samples) == 0)
			continue;
		else if (c == 'F' && parse_u64(optarg, 1, 10000, &o->hz) == 0)
			continue;
		else
			return -EINVAL;
	}
	return o->pid && o->path && optind == argc ? 0 : -EINVAL;
}

static int run_session(struct session *s, struct outfile *out, struct err *err)
{
	struct named_profile *np = NULL;
	int r = session_start(s, err);

	if (r == 0)
		r = session_run(s, 0, err);
	if (r == 0)
		r = session_result(s, &np, err);
	named_profile_free(np);
	return r < 0 || !out ? r : session_write_snapshot(s, outfile_stream(out), err);
}

static int take_snapshot(const struct snapshot_options *o, struct err *err)
{
	struct recording_writer *w = recording_writer_new();
	struct outfile *out = NULL;
	struct session *s = NULL;
	const struct session_options so = {
		.engine_options = {.event = "cpu", .period = UINT64_C(1000000000) / o->hz},
		.profile = {.threads = true},
		.kernel = true,
		.snapshot = w,
		.snapshot_samples = o->samples,
	};
	int r = w ? outfile_open(o->path, &out, err) : err_set(err, -ENOMEM, "out of memory");

	if (r == 0)
		r = session_open((pid_t)o->pid, &so, &s, err);
	if (r == 0)
		r = run_session(s, out, err);
	if (r == 0)
		r = outfile_commit(out, err);
	else
		outfile_abort(out);
	session_close(s);
	recording_writer_free(w);
	return r;
}

int cmd_snapshot(int argc, char **argv)
{
	struct snapshot_options o = {.samples = 20, .hz = 99};
	struct err err = {0};

	if (parse_snapshot(argc, argv, &o) < 0) {
		log_error("usage: jsampler snapshot -p PID -o FILE [-n SAMPLES] [-F HZ]");
		return EXIT_USAGE;
	}
	if (take_snapshot(&o, &err) == 0)
		return EXIT_WRITTEN;
	log_error("%s", err.msg);
	return EXIT_FAILED;
}

static int replay(const struct recording *rec, struct err *err)
{
	const struct session_options so = {
		.replay = rec,
		.profile = {.threads = true},
		.kernel = true,
		.thread_root = true,
	};
	const struct writer_options wo = {.annotate = true, .lines = true};
	struct named_profile *np = NULL;
	struct session *s = NULL;
	int r = session_open(0, &so, &s, err);

	if (r == 0)
		r = session_start(s, err);
	if (r == 0)
		r = session_run(s, 0, err);
	if (r == 0)
		r = session_result(s, &np, err);
	if (r == 0)
		r = writer_folded.write(np, &wo, stdout, err);
	named_profile_free(np);
	session_close(s);
	return r;
}

int cmd_replay(int argc, char **argv)
{
	struct recording *rec = NULL;
	struct err err = {0};
	int r;

	if (argc != 2) {
		log_error("usage: jsampler replay FILE");
		return EXIT_USAGE;
	}
	r = recording_open(argv[1], &rec, &err);
	if (r == 0)
		r = replay(rec, &err);
	recording_close(rec);
	if (r == 0)
		return EXIT_WRITTEN;
	log_error("%s", err.msg);
	return EXIT_FAILED;
}
