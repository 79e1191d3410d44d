#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/proc.h"

enum { READINGS_MAX = 8 };

struct tids {
	pid_t *v;
	size_t n, cap;
};

static void tids_done_at_exit(struct tids *t)
{
	free(t->v);
}

static int tid_compare(const void *a, const void *b)
{
	pid_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return ascending(x, y);
}

/* Reads the directory once, and sorts. The kernel may skip a thread when another ends meanwhile. */
static int read_once(DIR *dir, struct tids *ret)
{
	struct dirent *e;
	uint64_t tid;

	ret->n = 0;
	rewinddir(dir);
	for (errno = 0; (e = readdir(dir)); errno = 0)
		if (parse_u64(e->d_name, 1, INT_MAX, &tid) == 0 && !vec_push(ret, (pid_t)tid))
			return -ENOMEM;
	if (errno == ENOENT || (errno == 0 && ret->n == 0))
		return -ESRCH;
	if (errno != 0)
		return -errno;
	qsort(ret->v, ret->n, sizeof(*ret->v), tid_compare);
	return 0;
}

static bool tids_equal(const struct tids *a, const struct tids *b)
{
	return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0;
}

static int read_stable(DIR *dir, struct tids *now, struct tids *before)
{
	int r = read_once(dir, now);

	for (int i = 1; r == 0 && i < READINGS_MAX; i++) {
		struct tids t = *before;

		*before = *now;
		*now = t;
		r = read_once(dir, now);
		if (r == 0 && tids_equal(now, before))
			break;
	}
	return r;
}

int proc_tasks(struct proc *p, pid_t **ret, size_t *ret_n)
{
	CLEANUP(tids_done_at_exit) struct tids now = {0};
	CLEANUP(tids_done_at_exit) struct tids before = {0};
	int fd = proc_file(p, 0, "task"), r;
	DIR *dir;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	r = read_stable(dir, &now, &before);
	closedir(dir);
	if (r < 0)
		return r;
	*ret = take_ptr(now.v);
	*ret_n = now.n;
	return 0;
}
