#include "sampler/output/data_out.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "sampler/closed/opener.h"
#include "sampler/output/columns.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

int data_out_open(struct data_out *out, const char *path, struct err *err)
{
	int r = 0;

	*out = (struct data_out){.stream = stdout};
	if (!path || strcmp(path, "-") == 0)
		return 0;
	if (!*path)
		return err_set(err, -EINVAL, "-o needs the name of a file");
	out->path = path;
	r = outfile_open(path, &out->file, err);
	if (r == 0)
		out->stream = outfile_stream(out->file);
	return r;
}

int data_out_hand_over(struct data_out *out, struct opener *o)
{
	return out->file ? opener_add_output(o, out->file, out->path) : 0;
}

size_t data_out_width(const struct data_out *out)
{
	return out->path ? 0 : columns_of_terminal(STDOUT_FILENO);
}

/* A reader that closes the pipe (`| head`) has got what it wanted. */
static bool reader_is_gone(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

static int close_stdout(int result, struct err *err)
{
	errno = 0;
	if (result < 0 || (fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE || reader_is_gone())
		return result;
	return err_set(err, -EIO, "cannot write to stdout: %s", strerror(errno ? errno : EIO));
}

int data_out_close(struct data_out *out, int result, struct err *err)
{
	struct outfile *f = out->file;

	out->file = NULL;
	if (!f)
		return close_stdout(result, err);
	if (result == 0 && ferror(out->stream)) {
		/* Data that could not be written is still buffered: fclose() tries again and sets errno. */
		errno = 0;
		fflush(out->stream);
		result = errno ? -errno : -EIO;
		outfile_fail(err, result, out->path);
	}
	if (result == 0)
		return outfile_commit(f, err);
	outfile_abort(f);
	return result;
}
