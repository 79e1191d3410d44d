#include "symbolizer/native/modules/shared_dsos.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/target_file.h"

struct identity {
	dev_t device, namespace_device;
	ino_t inode, namespace_inode;
	off_t size;
	struct timespec modified, changed;
};

struct shared_dso {
	struct identity id;
	struct dso *dso;
	struct budget budget;
	size_t users;
};

struct shared_dsos {
	VEC(struct shared_dso *) all; /* some dozens */
	struct budget_pool pool;
	uint64_t ns;
};

struct shared_dsos *shared_dsos_new(uint64_t bytes, uint64_t ns)
{
	struct shared_dsos *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pool = (struct budget_pool){.bytes_left = bytes, .most = bytes};
	s->ns = ns;
	return s;
}

void shared_dsos_free(struct shared_dsos *s)
{
	if (!s)
		return;
	vec_done(&s->all);
	free(s);
}

static bool is_trusted(struct proc *p, const struct stat *st)
{
	struct proc_status status;

	if (!S_ISREG(st->st_mode) || st->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return st->st_uid == 0 || (proc_status(p, &status) == 0 && status.euid == st->st_uid);
}

bool shared_dsos_may_have(struct proc *p, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && is_trusted(p, &st);
}

/* false: not a file to be shared. */
static bool identify(struct proc *p, int fd, struct identity *ret)
{
	struct stat st, ns;

	if (target_file_is_copy(fd) || fstat(fd, &st) < 0 || !is_trusted(p, &st) || proc_ns(p, "mnt", &ns) < 0)
		return false;
	*ret = (struct identity){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = st.st_size,
		.modified = st.st_mtim,
		.changed = st.st_ctim,
		.namespace_device = ns.st_dev,
		.namespace_inode = ns.st_ino,
	};
	return true;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed) &&
	       a->namespace_device == b->namespace_device && a->namespace_inode == b->namespace_inode;
}

static struct shared_dso *find(const struct shared_dsos *s, const struct identity *id, const char *path)
{
	for (size_t i = 0; i < s->all.n; i++)
		if (same(&s->all.v[i]->id, id) && strcmp(dso_path(s->all.v[i]->dso), path) == 0)
			return s->all.v[i];
	return NULL;
}

static void release(struct shared_dso *d)
{
	dso_close(d->dso);
	budget_leave(&d->budget);
	free(d);
}

/* The budgets that a file is opened with are those that it is read with later. */
static struct shared_dso *open_new(struct shared_dsos *s, const struct identity *id, int fd, const char *path)
{
	struct shared_dso *d = calloc(1, sizeof(*d));
	int own;

	if (!d)
		return NULL;
	d->id = *id;
	budget_init(&d->budget, 0, s->ns);
	own = budget_join_reserved(&d->budget, &s->pool, (uint64_t)id->size + SHARED_DSO_INDEX) ?
		      fcntl(fd, F_DUPFD_CLOEXEC, 0) :
		      -1;
	if (own >= 0 && dso_open_fd(own, path, &d->budget, &d->dso, NULL) == 0)
		return d;
	if (d->budget.pool)
		budget_leave(&d->budget);
	free(d);
	return NULL;
}

struct shared_dso *shared_dsos_take(struct shared_dsos *s, struct proc *p, int fd, const char *path)
{
	struct identity id;
	struct shared_dso *d;

	if (!identify(p, fd, &id))
		return NULL;
	d = find(s, &id, path);
	if (!d) {
		d = open_new(s, &id, fd, path);
		if (d && !vec_push(&s->all, d)) {
			release(d);
			d = NULL;
		}
	}
	if (!d)
		return NULL;
	d->users++;
	close(fd);
	return d;
}

void shared_dsos_give(struct shared_dsos *s, struct shared_dso *d)
{
	dso_lend(d->dso, NULL);
	dso_set_debug_open(d->dso, NULL, NULL);
	dso_set_lines_child(d->dso, NULL);
	if (--d->users)
		return;
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i] == d) {
			s->all.v[i] = s->all.v[--s->all.n];
			break;
		}
	release(d);
}

struct dso *shared_dso_get(const struct shared_dso *d)
{
	return d->dso;
}
