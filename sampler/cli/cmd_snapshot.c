#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sampler/cli/cmd.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/recording/recording.h"
#include "sampler/recording/writer.h"
#include "sampler/session/pick.h"
#include "sampler/session/privs.h"
#include "sampler/session/session.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"

/*
 * Recordings for tests and bug reports: `jsampler snapshot` writes one, `jsampler replay` prints its
 * folded stacks, or writes a smaller one with what its own samples need.
 */
#define SNAPSHOT_USAGE "jsampler snapshot -p PID -o FILE [-n SAMPLES] [-F HZ] [-s FOLDED]"
#define REPLAY_USAGE "jsampler replay [-w KIND] [-n SAMPLES] [-o FILE] [-s FOLDED] RECORDING"

enum { DRAIN_NICE = -10 }; /* what the engine's drain thread asks for */

struct snapshot_options {
	uint64_t pid, samples, hz;
	const char *path, *folded; /* NULL: not written */
	bool any; /* all samples, else those that `want` matches */
	struct pick want;
};

static int parse_options(int argc, char **argv, const char *known, struct snapshot_options *o)
{
	int c;

	optind = 0;
	while ((c = getopt(argc, argv, known)) != -1) {
		if (c == 'o')
			o->path = optarg;
		else if (c == 's')
			o->folded = optarg;
		else if (c == 'p' && parse_u64(optarg, 1, INT32_MAX, &o->pid) == 0)
			continue;
		else if (c == 'n' && parse_u64(optarg, 1, 100000, &o->samples) == 0)
			continue;
		else if (c == 'F' && parse_u64(optarg, 1, 10000, &o->hz) == 0)
			continue;
		else if (c == 'w' && pick_parse(optarg, &o->want) == 0)
			o->any = false;
		else
			return -EINVAL;
	}
	return 0;
}

static void session_close_at_exit(struct session **s)
{
	session_close(*s);
}

static void writer_free_at_exit(struct recording_writer **w)
{
	recording_writer_free(*w);
}

static void recording_close_at_exit(struct recording **r)
{
	recording_close(*r);
}

static void outfile_abort_at_exit(struct outfile **f)
{
	outfile_abort(*f);
}

static void profile_free_at_exit(struct named_profile **np)
{
	named_profile_free(*np);
}

static int write_folded(const struct named_profile *np, const char *path, struct err *err)
{
	const struct writer_options wo = {.annotate = true, .lines = true};
	CLEANUP(outfile_abort_at_exit) struct outfile *out = NULL;
	int r = path ? outfile_open(path, &out, err) : 0;

	if (r == 0)
		r = writer_folded.write(np, &wo, out ? outfile_stream(out) : stdout, err);
	if (r < 0 || !out)
		return r;
	return outfile_commit(take_ptr(out), err);
}

/* A recording holds stacks and memory of the target: nobody else's business. */
static int open_private(const char *path, struct outfile **ret, struct err *err)
{
	mode_t mask = umask(077); /* a temporary file with a name is there for all to open at once */
	struct stat st;
	int fd, r = outfile_open(path, ret, err);

	umask(mask);
	if (r < 0)
		return r;
	fd = fileno(outfile_stream(*ret));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return err_set(err, -errno, "cannot make '%s' private: %m", path);
	return 0;
}

/* From here on what others have made is read: memory, files, a recording. Results go anywhere all the same. */
static int drop_rights(const struct session *s, struct err *err)
{
	const struct privs_needs needs = {
		.dac_override = true,
		.priority = !privs_allow_priority(DRAIN_NICE),
		.tracing = session_traces(s),
	};

	return privs_drop(&needs, err);
}

static int run_session(pid_t pid, const struct session_options *so, struct session **ret,
		       struct named_profile **ret_np, struct err *err)
{
	int r = session_open(pid, so, ret, err);

	if (r == 0)
		r = drop_rights(*ret, err);
	if (r == 0)
		r = session_start(*ret, err);
	if (r == 0)
		r = session_run(*ret, 0, err);
	return r == 0 ? session_result(*ret, ret_np, err) : r;
}

/* Runs a session; writes what o->snapshot collected to `path`, and the folded stacks. */
static int run_and_write(pid_t pid, const struct session_options *so,
			 const struct snapshot_options *o, struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = NULL;
	CLEANUP(profile_free_at_exit) struct named_profile *np = NULL;
	CLEANUP(outfile_abort_at_exit) struct outfile *out = NULL;
	int r = o->path ? open_private(o->path, &out, err) : 0;

	if (r == 0)
		r = run_session(pid, so, &s, &np, err);
	if (r == 0 && out)
		r = session_write_snapshot(s, outfile_stream(out), err);
	if (r == 0 && out)
		r = outfile_commit(take_ptr(out), err);
	if (r == 0 && (o->folded || !o->path))
		r = write_folded(np, o->folded, err);
	return r;
}

static struct session_options session_options(struct recording_writer *w)
{
	return (struct session_options){
		.profile = {.threads = true},
		.kernel = true,
		.lines = true,
		.thread_root = true,
		.snapshot = w,
	};
}

static int take_snapshot(const struct snapshot_options *o, struct err *err)
{
	CLEANUP(writer_free_at_exit) struct recording_writer *w = recording_writer_new();
	struct session_options so = session_options(w);

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	so.engine_options = (struct engine_options){.event = "cpu", .period = UINT64_C(1000000000) / o->hz};
	so.snapshot_samples = o->samples;
	return run_and_write((pid_t)o->pid, &so, o, err);
}

static int report(int r, const struct err *err)
{
	if (r < 0)
		log_error("%s", err->msg);
	return r < 0 ? EXIT_FAILED : EXIT_WRITTEN;
}

int cmd_snapshot(int argc, char **argv)
{
	struct snapshot_options o = {.samples = 20, .hz = 99, .any = true};
	struct err err = {0};

	if (parse_options(argc, argv, "p:o:n:F:s:", &o) < 0 || !o.pid || !o.path || optind != argc) {
		log_error("usage: %s", SNAPSHOT_USAGE);
		return EXIT_USAGE;
	}
	return report(take_snapshot(&o, &err), &err);
}

/* Which samples of a recording stay: of those that match, first the ones that differ. */
struct choice {
	const struct snapshot_options *o;
	bool *keep;
	uint64_t *seen; /* what the kept ones show */
	size_t at, kept;
};

static void choose(void *ctx, const struct raw_sample *s, const struct walk *w, struct hotspot *hs)
{
	struct choice *c = ctx;
	size_t i = c->at++;
	uint64_t what = 0;

	(void)s;
	if (c->kept == c->o->samples || (!c->o->any && !pick_matches(&c->o->want, w, hs, &what)))
		return;
	for (size_t k = 0; k < c->kept && !c->o->any; k++)
		if (c->seen[k] == what)
			return;
	c->seen[c->kept++] = what;
	c->keep[i] = true;
}

static int keep_chosen(struct recording *rec, const struct snapshot_options *o, struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = NULL;
	CLEANUP(profile_free_at_exit) struct named_profile *np = NULL;
	CLEANUP(free_at_exit) bool *keep = calloc(recording_sample_count(rec) + 1, sizeof(*keep));
	CLEANUP(free_at_exit) uint64_t *seen = calloc(recording_sample_count(rec) + 1, sizeof(*seen));
	struct choice c = {o, keep, seen, 0, 0};
	struct session_options so = session_options(NULL);
	int r;

	if (!keep || !seen)
		return err_set(err, -ENOMEM, "out of memory");
	so.replay = rec;
	so.walked = choose;
	so.walked_ctx = &c;
	r = run_session(0, &so, &s, &np, err);
	if (r == 0 && !c.kept)
		r = err_set(err, -ENOENT, "no sample of the recording is of that kind");
	if (r == 0)
		recording_keep_samples(rec, keep);
	return r;
}

static int replay(const char *path, const struct snapshot_options *o, struct err *err)
{
	CLEANUP(recording_close_at_exit) struct recording *rec = NULL;
	CLEANUP(writer_free_at_exit) struct recording_writer *w = recording_writer_new();
	struct session_options so = session_options(o->path ? w : NULL);
	int r = w ? recording_open(path, &rec, err) : err_set(err, -ENOMEM, "out of memory");

	if (r == 0 && (!o->any || o->samples != UINT64_MAX))
		r = keep_chosen(rec, o, err);
	so.replay = rec;
	return r == 0 ? run_and_write(0, &so, o, err) : r;
}

int cmd_replay(int argc, char **argv)
{
	struct snapshot_options o = {.samples = UINT64_MAX, .any = true};
	struct err err = {0};

	if (parse_options(argc, argv, "w:n:o:s:", &o) < 0 || optind + 1 != argc) {
		log_error("usage: %s; KIND is [any:] and one of %s", REPLAY_USAGE, pick_names());
		return EXIT_USAGE;
	}
	return report(replay(argv[optind], &o, &err), &err);
}
