#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sampler/cli/cmd.h"
#include "sampler/closed/opener.h"
#include "sampler/closing/closing.h"
#include "sampler/engine/frequency.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/readers/readers.h"
#include "sampler/recording/recording.h"
#include "sampler/recording/recording_writer.h"
#include "sampler/session/parts/part.h"
#include "sampler/session/pick.h"
#include "sampler/session/session.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/files/fileio.h"

/*
 * Recordings for tests and bug reports. `jsampler snapshot` writes one; `jsampler replay` prints its folded stacks,
 * or writes a smaller recording with only what some of its samples need.
 */
#define SNAPSHOT_USAGE "jsampler snapshot -p PID -o FILE [-n SAMPLES] [-F HZ] [-s FOLDED]"
#define REPLAY_USAGE "jsampler replay [-w KIND] [-n SAMPLES] [-o FILE] [-s FOLDED] RECORDING"

struct snapshot_options {
	uint64_t pid, samples, hz;
	const char *path, *folded; /* NULL: not written */
	bool any; /* all samples; otherwise those that match `want` */
	struct pick want;
};

static int parse_options(int argc, char **argv, const char *known, struct snapshot_options *o)
{
	int c;

	optind = 0;
	opterr = 0; /* the usage says more than getopt's message */
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

static void profile_free_at_exit(struct named_profile **np)
{
	named_profile_free(*np);
}

static void opener_free_at_exit(struct opener **o)
{
	opener_free(*o);
}

/* Opened before anything is parsed. */
struct files {
	struct outfile *recording, *folded; /* NULL: not written */
};

static void files_abort(struct files *f)
{
	outfile_abort(f->recording);
	outfile_abort(f->folded);
}

static int write_folded(const struct named_profile *np, struct files *f, struct err *err)
{
	const struct writer_options wo = {.annotate = true, .lines = true};
	int r = writer_folded.write(np, &wo, f->folded ? outfile_stream(f->folded) : stdout, err);

	return r == 0 && f->folded ? outfile_commit(take_ptr(f->folded), err) : r;
}

/* A recording contains stacks and memory of the target, which are private. */
static int open_private(const char *path, struct outfile **ret, struct err *err)
{
	mode_t mask = umask(077); /* a temporary file with a name could be opened by others */
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

/* Opens the outputs and registers them with the opener. */
static int open_files(const struct snapshot_options *o, struct opener *opener, struct files *ret, struct err *err)
{
	int r = o->path ? open_private(o->path, &ret->recording, err) : 0;

	if (r == 0 && o->folded)
		r = outfile_open(o->folded, &ret->folded, err);
	if (r < 0)
		return r;
	if ((ret->recording && opener_add_output(opener, ret->recording, o->path) < 0) ||
	    (ret->folded && opener_add_output(opener, ret->folded, o->folded) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* closing: NULL if this process is closed already, for a session on a recording. */
static int run_session(pid_t pid, const struct session_options *so, struct closing *closing, struct session **ret,
		       struct named_profile **ret_np, struct err *err)
{
	int r = session_open(pid, so, ret, err);

	if (r == 0 && closing)
		r = closing_close(closing, err);
	if (r == 0)
		r = session_start(*ret, err);
	if (r == 0)
		r = session_run(*ret, 0, err);
	return r == 0 ? session_result(*ret, ret_np, err) : r;
}

/* Runs a session, writes its snapshot to f->recording, and the folded stacks. */
static int run_and_write(pid_t pid, const struct session_options *so, struct closing *closing, struct files *f,
			 struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = NULL;
	CLEANUP(profile_free_at_exit) struct named_profile *np = NULL;
	bool folded = f->folded || !f->recording;
	int r = run_session(pid, so, closing, &s, &np, err);

	if (r == 0 && f->recording)
		r = session_write_snapshot(s, outfile_stream(f->recording), err);
	if (r == 0 && f->recording)
		r = outfile_commit(take_ptr(f->recording), err);
	return r == 0 && folded ? write_folded(np, f, err) : r;
}

static struct session_options session_options(struct recording_writer *w)
{
	return (struct session_options){
		.engine_options = {.event = "cpu", .kernel = true},
		.profile = {.threads = true},
		.show = {.lines = true, .thread_root = true},
		.snapshot = w,
	};
}

static int take_snapshot(const struct snapshot_options *o, struct err *err)
{
	CLEANUP(writer_free_at_exit) struct recording_writer *w = recording_writer_new();
	CLEANUP(closing_done) struct closing closing = {0};
	CLEANUP(files_abort) struct files files = {NULL, NULL};
	struct session_options so = session_options(w);
	pid_t pid = (pid_t)o->pid;
	int r = w ? closing_init(&closing, err) : err_set(err, -ENOMEM, "out of memory");

	if (r == 0)
		r = open_files(o, closing.opener, &files, err);
	if (r == 0)
		r = closing_fork(&closing, &(struct closing_targets){.pids = &pid, .n = 1}, err);
	so.engine_options.period = frequency_period_ns(o->hz);
	so.engine_options.confine_tracer = closing_tracer;
	so.snapshot_samples = o->samples;
	return r == 0 ? run_and_write(pid, &so, &closing, &files, err) : r;
}

static int report(int r, const struct err *err)
{
	return r < 0 ? cmd_fail(EXIT_FAILED, err) : EXIT_WRITTEN;
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

/* Selects samples of a recording: of those that match, the first of each shape. */
struct selection {
	const struct snapshot_options *o;
	bool *keep;
	uint64_t *seen; /* shapes of the kept ones */
	size_t at, kept;
};

static void choose(void *selection, struct sampled *s)
{
	struct selection *c = selection;
	size_t i = c->at++;
	uint64_t what = 0;

	if (c->kept == c->o->samples || (!c->o->any && !pick_matches(&c->o->want, s->walk, s->readers->hs, &what)))
		return;
	for (size_t k = 0; k < c->kept && !c->o->any; k++)
		if (c->seen[k] == what)
			return;
	c->seen[c->kept++] = what;
	c->keep[i] = true;
}

static const struct part_ops choosing = {.walked = choose};

static int keep_chosen(struct recording *rec, const struct snapshot_options *o, struct err *err)
{
	CLEANUP(session_close_at_exit) struct session *s = NULL;
	CLEANUP(profile_free_at_exit) struct named_profile *np = NULL;
	CLEANUP(free_at_exit) bool *keep = calloc(recording_sample_count(rec) + 1, sizeof(*keep));
	CLEANUP(free_at_exit) uint64_t *seen = calloc(recording_sample_count(rec) + 1, sizeof(*seen));
	struct selection c = {o, keep, seen, 0, 0};
	struct session_options so = session_options(NULL);
	int r;

	if (!keep || !seen)
		return err_set(err, -ENOMEM, "out of memory");
	so.replay = rec;
	so.observer = &choosing;
	so.observer_ctx = &c;
	r = run_session(0, &so, NULL, &s, &np, err);
	if (r == 0 && !c.kept)
		r = err_set(err, -ENOENT, "the recording has no sample of that kind");
	if (r == 0)
		recording_keep_samples(rec, keep);
	return r;
}

/* Opens the outputs, hands them to the opener, and closes this process; only then reads the recording. */
static int open_all(const char *const *path, const struct snapshot_options *o, struct opener *opener,
		    struct files *files, struct recording **ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = -1;
	int r = open_files(o, opener, files, err);

	if (r == 0)
		r = close_with(opener, err);
	if (r < 0)
		return r;
	fd = opener_input(opener, *path);
	if (fd < 0)
		return err_set(err, fd, "cannot read '%s': %s", *path, strerror(-fd));
	return recording_read(fd, *path, ret, err);
}

static int replay(const char *path, const struct snapshot_options *o, struct err *err)
{
	CLEANUP(opener_free_at_exit) struct opener *opener = opener_new(&path, 1);
	CLEANUP(files_abort) struct files files = {NULL, NULL};
	CLEANUP(recording_close_at_exit) struct recording *rec = NULL;
	CLEANUP(writer_free_at_exit) struct recording_writer *w = recording_writer_new();
	struct session_options so = session_options(o->path ? w : NULL);
	int r = w && opener ? open_all(&path, o, opener, &files, &rec, err) : err_set(err, -ENOMEM, "out of memory");

	if (r == 0 && (!o->any || o->samples != UINT64_MAX))
		r = keep_chosen(rec, o, err);
	so.replay = rec;
	return r == 0 ? run_and_write(0, &so, NULL, &files, err) : r;
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
