#include "sampler/cli/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sampler/closed/opener.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/files/fileio.h"

static void add_time(struct buf *b)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
	buf_add_z(b, text);
}

/* %p: PID, %t: time, %%: a percent sign. */
static int expand_path(const char *pattern, pid_t pid, char *dst, size_t size, struct err *err)
{
	struct buf b = {0};
	int r = 0;

	for (const char *p = pattern; *p; p++) {
		if (*p != '%' || !p[1])
			buf_add(&b, p, 1);
		else if (*++p == 'p')
			buf_printf(&b, "%d", (int)pid);
		else if (*p == 't')
			add_time(&b);
		else
			buf_add(&b, p, 1);
	}
	if (b.failed || b.len >= size)
		r = err_set(err, -ENAMETOOLONG, "'%.80s': the name is too long", pattern);
	else
		memcpy(dst, b.data ? b.data : "", b.len + 1);
	buf_done(&b);
	return r;
}

/* Of the writers with the same name, the ending decides: -f folded -o x.gz is compressed. */
static const struct writer *writer_of(const char *format, const char *path)
{
	const struct writer *by_ending = writer_for_path(path);
	size_t len = strlen(path);

	if (by_ending && strcmp(format, by_ending->name) == 0)
		return by_ending;
	if (len > 3 && strcmp(path + len - 3, ".gz") == 0)
		return writer_in_gzip(format);
	return writer_find(format);
}

static int choose_writer(const char *path, const char *format, const struct writer **ret, struct err *err)
{
	char names[128];

	if (format)
		*ret = writer_of(format, path);
	else
		*ret = strcmp(path, "-") == 0 ? &writer_folded : writer_for_path(path);
	if (*ret)
		return 0;
	if (format)
		return err_set(err, -EINVAL, "'%s': %s cannot be compressed with gzip (folded and pprof can)", path,
			       format);
	writer_names(names, sizeof(names));
	return err_set(err, -EINVAL,
		       "'%s': unknown file name ending; give the format with -f (%s), as in '-f folded -o %s'", path,
		       names, path);
}

/* Binary data would garble a terminal. */
static int check_terminal(const struct output *o, struct err *err)
{
	if (strcmp(o->path, "-") != 0 || strcmp(o->writer->name, "pprof") != 0 || !isatty(STDOUT_FILENO))
		return 0;
	return err_set(err, -EINVAL, "pprof is binary, and stdout is a terminal: name a file, -o FILE.pb.gz");
}

/* Checked now rather than after the recording. If stdout was closed, main() has replaced it by something read-only. */
static int check_stdout(const struct output *o, struct err *err)
{
	int flags = strcmp(o->path, "-") == 0 ? fcntl(STDOUT_FILENO, F_GETFL) : O_WRONLY;

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	return err_set(err, -EBADF, "cannot write to stdout: it is closed; name a file with -o");
}

/* `open`: outfile_open(), or outfile_open_own() for a name that the user has not given. */
static int add_output_as(struct outputs *outs, const char *pattern, const char *format, pid_t pid, size_t process,
			 int (*open)(const char *, struct outfile **, struct err *), struct err *err)
{
	struct output *o, *grown = reallocarray(outs->list, outs->n + 1, sizeof(*outs->list));
	int r;

	if (!grown)
		return err_set(err, -ENOMEM, "out of memory");
	outs->list = grown;
	o = &outs->list[outs->n];
	*o = (struct output){.process = process};
	r = expand_path(pattern, pid, o->path, sizeof(o->path), err);
	if (r == 0)
		r = choose_writer(o->path, format, &o->writer, err);
	if (r == 0)
		r = check_terminal(o, err);
	if (r == 0)
		r = check_stdout(o, err);
	if (r == 0 && strcmp(o->path, "-") != 0)
		r = open(o->path, &o->file, err);
	if (r == 0)
		outs->n++;
	return r;
}

static int add_output(struct outputs *outs, const char *pattern, const char *format, pid_t pid, size_t process,
		      struct err *err)
{
	return add_output_as(outs, pattern, format, pid, process, outfile_open, err);
}

/* PID and time can be guessed: if somebody else has created a file with that name, a random one is used. */
static int add_named(struct outputs *outs, const struct writer *w, const char *format, pid_t pid, struct err *err)
{
	int ending_len = (int)strcspn(w->endings, " ");
	char pattern[64];
	uint32_t random;
	int r;

	snprintf(pattern, sizeof(pattern), "jsampler-%%p-%%t%.*s", ending_len, w->endings);
	r = add_output_as(outs, pattern, format, pid, 0, outfile_open_own, err);
	if (r != -EEXIST || getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return r;
	snprintf(pattern, sizeof(pattern), "jsampler-%%p-%%t-%08" PRIx32 "%.*s", random, ending_len, w->endings);
	return add_output_as(outs, pattern, format, pid, 0, outfile_open_own, err);
}

/* Without -o: a file if stdout is a terminal, otherwise stdout. */
static int add_default(struct outputs *outs, const struct record_options *o, pid_t pid, struct err *err)
{
	bool to_file = isatty(STDOUT_FILENO) || o->command;
	const char *format = o->format ? o->format : to_file ? "html" : "folded";
	const struct writer *w = writer_find(format);

	if (!to_file || !w)
		return add_output(outs, "-", format, pid, 0, err);
	return add_named(outs, w, format, pid, err);
}

static bool names_pid(const char *pattern)
{
	for (const char *p = strchr(pattern, '%'); p && p[1]; p = strchr(p + 2, '%'))
		if (p[1] == 'p')
			return true;
	return false;
}

static int add_asked(struct outputs *outs, const char *pattern, const char *format, const pid_t *pids, size_t n,
		     struct err *err)
{
	int r = 0;

	if (n == 1 || !names_pid(pattern))
		return add_output(outs, pattern, format, pids[0], 0, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_output(outs, pattern, format, pids[i], i + 1, err);
	return r;
}

static int check_stdout_once(const struct record_options *o, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_outputs; i++)
		n += strcmp(o->outputs[i], "-") == 0;
	if (n > 1)
		return err_set(err, -EINVAL, "-o -: only one output can go to stdout");
	if (n && o->command)
		return err_set(err, -EINVAL, "-o -: stdout belongs to the command; name a file");
	return 0;
}

int outputs_open(const struct record_options *o, const pid_t *pids, size_t n_pids, struct outputs *ret, struct err *err)
{
	int r = check_stdout_once(o, err);

	*ret = (struct outputs){0};
	if (r == 0 && !o->n_outputs)
		r = add_default(ret, o, pids[0], err);
	for (size_t i = 0; r == 0 && i < o->n_outputs; i++)
		r = add_asked(ret, o->outputs[i], o->format, pids, n_pids, err);
	if (r < 0)
		outputs_done(ret);
	return r;
}

int outputs_hand_over(struct outputs *outs, struct opener *o)
{
	int r = 0;

	outs->opener = o;
	for (size_t i = 0; r == 0 && i < outs->n; i++)
		if (outs->list[i].file)
			r = opener_add_output(o, outs->list[i].file, outs->list[i].path);
	return r;
}

bool outputs_are_split(const struct outputs *outs)
{
	for (size_t i = 0; i < outs->n; i++)
		if (outs->list[i].process)
			return true;
	return false;
}

static int write_stdout(const struct output *o, const struct named_profile *np, const struct writer_options *wo,
			struct err *err)
{
	int r = o->writer->write(np, wo, stdout, err);

	/* A reader that closes the pipe (`| head`) has got what it wanted. */
	if (r == -EPIPE)
		return 0;
	if (r < 0)
		return err_wrap(err, r, "stdout");
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return errno == EPIPE ? 0 : err_set(err, -errno, "cannot write to stdout: %m");
}

static bool rescue_to(const struct output *o, const struct named_profile *np, const struct writer_options *wo,
		      struct outfile *f)
{
	if (o->writer->write(np, wo, outfile_stream(f), NULL) == 0)
		return outfile_commit(f, NULL) == 0;
	outfile_abort(f);
	return false;
}

/* Samples must not be lost because the disk is full, or because the directory has changed meanwhile. */
static bool rescue(struct opener *opener, const struct output *o, const struct named_profile *np,
		   const struct writer_options *wo, char *ret_path, size_t size)
{
	struct outfile *f;

	for (unsigned i = 0; i < OUTFILE_RESCUES; i++)
		if (opener_rescue(opener, o->path, i, &f, ret_path, size) == 0 && rescue_to(o, np, wo, f))
			return true;
	return false;
}

/* Not if another directory would not help: a limit on file sizes, a reader that is gone. */
static bool is_rescued(int code, bool written)
{
	return code == -ENOSPC || code == -EDQUOT || (written && code < 0 && code != -EPIPE && code != -EFBIG);
}

static int write_file(struct opener *opener, struct output *o, const struct named_profile *np,
		      const struct writer_options *wo, struct err *err)
{
	char elsewhere[sizeof(o->path)];
	struct outfile *f = o->file;
	int r = o->writer->write(np, wo, outfile_stream(f), err);
	bool written = r == 0;

	o->file = NULL;
	if (written)
		r = outfile_commit(f, err);
	else
		outfile_abort(f);
	if (is_rescued(r, written) && rescue(opener, o, np, wo, elsewhere, sizeof(elsewhere)))
		return err_set(err, r, "cannot write '%s': %s; the profile is in '%s' instead", o->path,
			       r == -EEXIST ? "somebody else has created a file of that name" : strerror(-r),
			       elsewhere);
	if (r == 0 || written)
		return r;
	if (*outfile_remedy(r))
		return outfile_fail(err, r, o->path);
	return err_wrap(err, r, "'%s'", o->path);
}

int outputs_write(struct outputs *outs, const struct named_profile *np, struct named_profile *const *each,
		  const struct writer_options *wo, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < outs->n; i++) {
		struct output *o = &outs->list[i];
		const struct named_profile *of = o->process ? each[o->process - 1] : np;
		struct err later, *e = result == 0 ? err : &later;
		/* a process that was left out has no profile */
		int r = !of ? 0 : o->file ? write_file(outs->opener, o, of, wo, e) : write_stdout(o, of, wo, e);

		if (r < 0 && result == 0)
			result = r;
		else if (r < 0)
			log_error("%s", later.msg);
	}
	return result;
}

void outputs_done(struct outputs *outs)
{
	for (size_t i = 0; i < outs->n; i++)
		outfile_abort(outs->list[i].file);
	free(outs->list);
	*outs = (struct outputs){0};
}
