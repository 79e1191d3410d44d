#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_stat.h"

enum { STAT_MAX = 4096, FEW_THREADS = 64, DESCENDANTS_MAX = 1 << 22 /* PID_MAX_LIMIT in linux/threads.h */ };
/* A user may have as many processes as the machine allows; 50,000 can be read in this time. */
#define READ_NS UINT64_C(500000000)

struct edge {
	pid_t parent, pid;
	bool taken;
};

struct tree {
	VEC(struct edge) edges;
	VEC(pid_t) found;
};

static void read_edge(struct tree *t, int proc_fd, const char *name)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_stat s;
	char path[300];

	snprintf(path, sizeof(path), "%s/stat", name);
	if (file_read_at(proc_fd, path, STAT_MAX, &text, NULL) < 0 || proc_stat_parse(text, &s) < 0)
		return;
	(void)vec_push(&t->edges, ((struct edge){.parent = s.ppid, .pid = (pid_t)strtol(name, NULL, 10)}));
}

static int by_parent(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return ascending(x->parent, y->parent);
}

static int read_edges(struct tree *t)
{
	uint64_t until = clock_monotonic_ns() + READ_NS;
	DIR *d = opendir("/proc");

	if (!d)
		return -errno;
	for (struct dirent *e; (e = readdir(d)) && clock_monotonic_ns() < until;)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			read_edge(t, dirfd(d), e->d_name);
	closedir(d);
	if (t->edges.n)
		qsort(t->edges.v, t->edges.n, sizeof(*t->edges.v), by_parent);
	return 0;
}

/*
 * Adds the children of `parent`. `taken` prevents endless loops: if a PID was reused during the read, edges may form a
 * circle.
 */
static int take_children(struct tree *t, pid_t parent)
{
	for (size_t i = first_above(t->edges.v, t->edges.n, parent, parent - 1);
	     i < t->edges.n && t->edges.v[i].parent == parent; i++) {
		struct edge *e = &t->edges.v[i];

		if (e->taken)
			continue;
		e->taken = true;
		if (!vec_push(&t->found, e->pid))
			return -ENOMEM;
	}
	return 0;
}

/* Reads task/TID/children if the kernel has it (CONFIG_PROC_CHILDREN): far cheaper than reading all of /proc. */
static bool thread_has_no_children(struct proc *p, pid_t tid)
{
	CLEANUP(free_at_exit) char *text = NULL;
	size_t len;

	return proc_read_task(p, tid, "children", STAT_MAX, &text, &len) == 0 && len == 0;
}

static bool has_no_children(struct proc *p)
{
	bool none = true;
	pid_t *tids;
	size_t n;

	if (proc_tasks(p, &tids, &n) < 0)
		return false;
	for (size_t i = 0; i < n && none; i++)
		none = n <= FEW_THREADS && thread_has_no_children(p, tids[i]);
	free(tids);
	return none;
}

static int descendants_by_deputy(const struct deputy *d, struct proc *p, pid_t **ret, size_t *ret_n)
{
	CLEANUP(close_at_exit) int fd = -1;
	uint32_t number;
	char *pids;
	size_t len;
	int r = proc_number(p, &number);

	if (r == 0)
		r = fd = d->descendants(d->ctx, number);
	if (r >= 0)
		r = file_read_fd(fd, DESCENDANTS_MAX * sizeof(**ret), &pids, &len);
	if (r < 0)
		return r;
	*ret = (pid_t *)(void *)pids; /* aligned, since malloc(3) allocated it */
	*ret_n = len / sizeof(**ret);
	return 0;
}

int proc_descendants(struct proc *p, pid_t **ret, size_t *ret_n)
{
	struct tree t = {0};
	int r;

	*ret = NULL;
	*ret_n = 0;
	if (deputy())
		return descendants_by_deputy(deputy(), p, ret, ret_n);
	if (has_no_children(p))
		return 0;
	r = read_edges(&t);
	if (r == 0)
		r = take_children(&t, proc_pid(p));
	for (size_t i = 0; r == 0 && i < t.found.n; i++)
		r = take_children(&t, t.found.v[i]);
	vec_done(&t.edges);
	if (r < 0) {
		vec_done(&t.found);
		return r;
	}
	*ret = t.found.v;
	*ret_n = t.found.n;
	return 0;
}

int proc_entries(struct proc_entry **ret, size_t *ret_n)
{
	VEC(struct proc_entry) found = {0};
	DIR *d = opendir("/proc");
	pid_t self = getpid();
	bool ok = true;

	if (!d)
		return -errno;
	for (struct dirent *e; ok && (e = readdir(d));) {
		pid_t pid = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? (pid_t)strtol(e->d_name, NULL, 10) : 0;

		ok = pid <= 0 || pid == self || vec_push(&found, ((struct proc_entry){pid, e->d_ino}));
	}
	closedir(d);
	if (!ok) {
		vec_done(&found);
		return -ENOMEM;
	}
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

int proc_others(pid_t **ret, size_t *ret_n)
{
	struct proc_entry *entries = NULL;
	pid_t *pids = NULL;
	size_t n = 0;
	int r = proc_entries(&entries, &n);

	if (r == 0 && n && !(pids = calloc(n, sizeof(*pids))))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		pids[i] = entries[i].pid;
	free(entries);
	if (r < 0)
		return r;
	*ret = pids;
	*ret_n = n;
	return 0;
}
