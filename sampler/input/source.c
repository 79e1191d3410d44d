#include "sampler/input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

enum { BUFFER = 256 * 1024, NAME_SIZE = 4096 };

struct source {
	gzFile gz; /* NULL: bytes in memory */
	const char *bytes;
	size_t n_bytes;
	char *buf; /* bytes read and not yet used: [at, end) */
	size_t cap, at, end;
	bool at_end;
	char name[NAME_SIZE];
};

static struct source *source_new(const char *name)
{
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->buf = malloc(BUFFER);
	s->cap = BUFFER;
	strncpy(s->name, name, sizeof(s->name) - 1);
	if (s->buf)
		return s;
	free(s);
	return NULL;
}

struct source *source_new_bytes(const void *bytes, size_t len, const char *name)
{
	struct source *s = source_new(name);

	if (!s)
		return NULL;
	s->bytes = bytes;
	s->n_bytes = len;
	return s;
}

int source_open(const char *path, struct source **ret, struct err *err)
{
	bool in = !strcmp(path, "-");
	int fd = in ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %m", path);
	return source_open_fd(fd, in ? "stdin" : path, ret, err);
}

int source_open_fd(int fd, const char *name, struct source **ret, struct err *err)
{
	CLEANUP(close_at_exit) int owned = fd;
	struct source *s = source_new(name);

	if (s)
		s->gz = gzdopen(fd, "rb");
	if (!s || !s->gz) {
		source_close(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	take_fd(&owned);
	gzbuffer(s->gz, BUFFER);
	*ret = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->gz)
		gzclose_r(s->gz);
	free(s->buf);
	free(s);
}

const char *source_name(const struct source *s)
{
	return s->name;
}

static int gz_failed(struct source *s, struct err *err)
{
	int code;
	const char *why = gzerror(s->gz, &code);

	if (code == Z_ERRNO)
		return err_set(err, errno ? -errno : -EIO, "'%s': %s", s->name, strerror(errno ? errno : EIO));
	if (code == Z_MEM_ERROR)
		return err_set(err, -ENOMEM, "out of memory");
	if (code == Z_BUF_ERROR)
		why = "it ends early";
	/* zlib knows no name, and puts "<fd:3>: " before the message */
	if (strncmp(why, "<fd:", 4) == 0 && strstr(why, ">: "))
		why = strstr(why, ">: ") + 3;
	return err_set(err, -EINVAL, "'%s': damaged gzip data after %lld unpacked bytes: %s", s->name,
		       (long long)gztell(s->gz), why);
}

/* Reads more bytes into the buffer, which has room; sets at_end if there are none. */
static int fill(struct source *s, struct err *err)
{
	size_t room = s->cap - s->end;
	int n, code;

	if (!s->gz) {
		n = s->n_bytes < room ? s->n_bytes : room;
		if (n)
			memcpy(s->buf + s->end, s->bytes, n);
		s->bytes += n;
		s->n_bytes -= n;
	} else {
		errno = 0;
		n = gzread(s->gz, s->buf + s->end, room);
		if (n == 0)
			gzerror(s->gz, &code);
		if (n < 0 || (n == 0 && code != Z_OK && code != Z_STREAM_END))
			return gz_failed(s, err);
	}
	s->at_end = n == 0;
	s->end += n;
	return 0;
}

int source_peek(struct source *s, const char **ret, size_t *ret_len, struct err *err)
{
	int rc = s->end || s->at_end ? 0 : fill(s, err);

	*ret = s->buf + s->at;
	*ret_len = s->end - s->at;
	return rc;
}

/* Makes room after the bytes in the buffer, by moving them to its front or into a larger one. */
static int make_room(struct source *s, struct err *err)
{
	char *p;

	if (s->at) {
		memmove(s->buf, s->buf + s->at, s->end - s->at);
		s->end -= s->at;
		s->at = 0;
	}
	if (s->end < s->cap)
		return 0;
	p = realloc(s->buf, s->cap * 2);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	s->buf = p;
	s->cap *= 2;
	return 0;
}

static int skip_line(struct source *s, struct err *err)
{
	for (;;) {
		char *nl = memchr(s->buf + s->at, '\n', s->end - s->at);
		int rc;

		if (nl) {
			s->at = nl + 1 - s->buf;
			return 1;
		}
		s->at = s->end = 0;
		if ((rc = fill(s, err)) || s->at_end)
			return rc ? rc : 1;
	}
}

static int take_line(struct source *s, size_t len, size_t skip, char **ret, size_t *ret_len)
{
	*ret = s->buf + s->at;
	s->at += len + skip;
	if (len && (*ret)[len - 1] == '\r')
		len--;
	*ret_len = len;
	return 1;
}

int source_line(struct source *s, char **ret, size_t *ret_len, struct err *err)
{
	size_t seen = 0; /* bytes of the current line without a line end */
	int rc;

	for (;;) {
		char *nl = memchr(s->buf + s->at + seen, '\n', s->end - s->at - seen);

		if (nl)
			return take_line(s, nl - s->buf - s->at, 1, ret, ret_len);
		seen = s->end - s->at;
		if (s->at_end)
			return seen ? take_line(s, seen, 0, ret, ret_len) : 0;
		if (seen > SOURCE_LINE_MAX) {
			*ret = NULL;
			*ret_len = 0;
			return skip_line(s, err);
		}
		if ((rc = make_room(s, err)) || (rc = fill(s, err)))
			return rc;
	}
}

int source_rest(struct source *s, size_t max, char **ret, size_t *ret_len, struct err *err)
{
	int rc;

	while (!s->at_end) {
		if (s->end - s->at > max)
			return err_set(err, -EFBIG, "'%s': larger than %zu MiB", s->name, max >> 20);
		if ((rc = make_room(s, err)) || (rc = fill(s, err)))
			return rc;
	}
	if (s->at)
		memmove(s->buf, s->buf + s->at, s->end - s->at);
	*ret = take_ptr(s->buf);
	*ret_len = s->end - s->at;
	s->cap = s->at = s->end = 0;
	return 0;
}
