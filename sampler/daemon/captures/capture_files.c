#include "sampler/daemon/captures/capture_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"

#define PREFIX "capture-"
#define SUFFIX ".pb.gz"
#define UNFINISHED ".unfinished"

enum { NAME_MAX_BYTES = 128, NUMBERS = 5 };

static void name_of(const struct capture *c, char dst[NAME_MAX_BYTES])
{
	snprintf(dst, NAME_MAX_BYTES, PREFIX "%" PRIu64 "-%d-%u-%u-%u" SUFFIX, c->id, c->request.pid, c->request.hz,
		 c->request.seconds, c->request.by);
}

static bool parse_name(const char *name, struct capture *ret)
{
	const char *p = name + sizeof(PREFIX) - 1, *end = name + strlen(name);
	uint64_t v[NUMBERS];
	char again[NAME_MAX_BYTES];

	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return false;
	for (int i = 0; i < NUMBERS; i++)
		if (parse_digits(&p, end, 10, &v[i]) < 0 || (i && v[i] > UINT32_MAX) ||
		    (*p++ != (i < NUMBERS - 1 ? '-' : '.')))
			return false;
	*ret = (struct capture){
		.id = v[0],
		.state = CAPTURE_DONE,
		.request = {.pid = (int32_t)v[1],
			    .hz = (uint32_t)v[2],
			    .seconds = (uint32_t)v[3],
			    .by = (uint32_t)v[4]},
	};
	name_of(ret, again);
	return strcmp(name, again) == 0;
}

static int open_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* --- one --- */

static int write_to(int dir, const char *name, const struct named_profile *np, struct err *err)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	int r;

	if (!f) {
		close_at_exit(&fd);
		return err_set(err, -errno, "cannot make a file for the capture: %m");
	}
	r = writer_pprof.write(np, &(struct writer_options){.annotate = true}, f, err);
	if (fclose(f) != 0 && r == 0)
		r = err_set(err, -errno, "cannot write the capture: %m");
	return r;
}

/* Under another name until it is complete. */
int capture_file_write(const char *dir, struct capture *c, const struct named_profile *np, struct err *err)
{
	CLEANUP(close_at_exit) int fd = open_directory(dir);
	char name[NAME_MAX_BYTES], other[NAME_MAX_BYTES + sizeof(UNFINISHED)];
	struct stat st;
	int r;

	if (fd < 0)
		return err_set(err, fd, "cannot open the directory of the history: %s", strerror(-fd));
	name_of(c, name);
	snprintf(other, sizeof(other), "%s" UNFINISHED, name);
	r = write_to(fd, other, np, err);
	if (r == 0 && renameat(fd, other, fd, name) < 0)
		r = err_set(err, -errno, "cannot rename the capture: %m");
	if (r < 0)
		unlinkat(fd, other, 0);
	c->bytes = r == 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
	return r;
}

int capture_file_read(const char *dir, const struct capture *c, struct named_profile **ret, struct err *err)
{
	CLEANUP(close_at_exit) int dir_fd = open_directory(dir);
	char name[NAME_MAX_BYTES];
	int fd;

	name_of(c, name);
	fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -ENOENT, "the capture %" PRIu64 " is not kept any more", c->id);
	return reader_read_profile(fd, name, ret, NULL, err);
}

/* --- all --- */

typedef VEC(struct capture) capture_list;

int captures_newest_first(const void *va, const void *vb)
{
	const struct capture *a = va, *b = vb;

	return descending(a->id, b->id);
}

int capture_files(const char *dir, struct capture **ret, size_t *ret_n)
{
	int fd = open_directory(dir);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	capture_list all = {0};
	const struct dirent *e;
	struct capture c;
	struct stat st;
	int r = 0;

	if (!d) {
		close_at_exit(&fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	while (r == 0 && (e = readdir(d))) {
		if (!parse_name(e->d_name, &c) || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		c.bytes = (uint64_t)st.st_size;
		r = vec_push(&all, c) ? 0 : -ENOMEM;
	}
	closedir(d);
	if (r < 0) {
		vec_done(&all);
		return r;
	}
	*ret = all.v;
	*ret_n = all.n;
	return 0;
}

void capture_files_tidy(const char *dir)
{
	CLEANUP(close_at_exit) int fd = open_directory(dir);
	CLEANUP(free_at_exit) struct capture *all = NULL;
	char name[NAME_MAX_BYTES];
	uint64_t bytes = 0;
	size_t n = 0;

	if (fd < 0 || capture_files(dir, &all, &n) < 0 || !n)
		return;
	qsort(all, n, sizeof(*all), captures_newest_first);
	for (size_t i = 0; i < n; i++) {
		bytes += all[i].bytes;
		name_of(&all[i], name);
		if (i >= CAPTURES_KEPT || bytes > CAPTURES_BYTES)
			unlinkat(fd, name, 0);
	}
}
