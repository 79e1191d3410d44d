/* The child's end of a broker: what it opens, and that it opens nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/broker/private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/path_in_root.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/target_file.h"

/* A name's file in /proc/PID and in /proc/PID/task/TID; NULL: a process or thread has no such file. */
static const char *const names[BROKER_NAMES][2] = {
	[BROKER_MEM] = {"mem", NULL},
	[BROKER_MAPS] = {"maps", NULL},
	[BROKER_STAT] = {"stat", "stat"},
	[BROKER_STATUS] = {"status", "status"},
	[BROKER_CMDLINE] = {"cmdline", NULL},
	[BROKER_COMM] = {"comm", "comm"},
	[BROKER_SCHEDSTAT] = {"schedstat", "schedstat"},
	[BROKER_SYSCALL] = {NULL, "syscall"},
};

/* --- rules --- */

/* Is it the process that was added, with no more rights than it had? */
static int check_target(struct broker_target *t, struct proc_status *ret)
{
	int r = proc_alive(t->proc) ? proc_status(t->proc, ret) : -ESRCH;

	if (r < 0)
		return r;
	return t->euid != 0 && (ret->uid != t->uid || ret->euid != t->euid) ? -EPERM : 0;
}

/* The descriptor of /proc/PID leads to that process, or nowhere. */
static int open_proc(struct proc *p, const char *name)
{
	int fd = openat(proc_dirfd(p), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);

	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

static int open_task(struct proc *p, int32_t tid, const char *name)
{
	char path[48];

	if (tid <= 0)
		return -EPROTO;
	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	return open_proc(p, path);
}

/* As the target, whose files these are: on a host, its root is everybody's. credentials(7), setfsuid(2). */
static void become(const struct proc_status *st)
{
	setfsgid(st->egid);
	setfsuid(st->euid);
}

static void return_to_self(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}

static void close_maps(struct maps **m)
{
	if (*m)
		maps_close(*m);
}

static int open_mapped(struct proc *p, uint64_t start, uint64_t end)
{
	CLEANUP(close_maps) struct maps *maps = NULL;
	const struct mapping *m;
	int fd, r = maps_open(p, NULL, &maps, NULL);

	if (r < 0)
		return r;
	m = maps_find(maps, start);
	if (!m || m->start != start || m->end != end || !m->inode)
		return -ENOENT;
	r = target_file_open_mapping(p, m, &fd, NULL);
	return r < 0 ? r : fd;
}

/* Written by the target's user, and under this name alone: no link, no second name, no other's file. */
static int open_own(int dir, const char *name, uid_t owner)
{
	CLEANUP(close_at_exit) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || st.st_uid != owner)
		return -EACCES;
	return take_fd(&fd);
}

static int open_perf_map(struct proc *p, const struct proc_status *st)
{
	CLEANUP(close_at_exit) int root = openat(proc_dirfd(p), "root", O_PATH | O_DIRECTORY | O_CLOEXEC), dir = -1;
	char name[32];

	if (root < 0)
		return -errno;
	dir = path_in_root_open(root, "/tmp");
	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "perf-%d.map", (int)st->ns_pid);
	return open_own(dir, name, st->euid);
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug"; gdb(1), "Debugging Information in Separate Files". */
static int open_debug_file(struct proc *p, const struct broker_request *q)
{
	char path[sizeof("/usr/lib/debug/.build-id//.debug") + 2 * BROKER_BUILD_ID_MAX + 1], *at = path;
	int fd, r;

	if (q->build_id_len < 2 || q->build_id_len > BROKER_BUILD_ID_MAX)
		return -EPROTO;
	at += sprintf(at, "/usr/lib/debug/.build-id/%02x/", q->build_id[0]);
	for (uint32_t i = 1; i < q->build_id_len; i++)
		at += sprintf(at, "%02x", q->build_id[i]);
	strcpy(at, ".debug");
	r = target_file_open(p, path, &fd, NULL);
	return r < 0 ? r : fd;
}

static int open_file(struct proc *p, const struct proc_status *st, const struct broker_request *q)
{
	int r;

	become(st);
	if (q->what == BROKER_MAPPED)
		r = open_mapped(p, q->start, q->end);
	else
		r = q->what == BROKER_PERF_MAP ? open_perf_map(p, st) : open_debug_file(p, q);
	return_to_self();
	return r;
}

int broker_open(struct broker *b, const struct broker_request *q)
{
	bool task = q->what == BROKER_TASK, file = q->what != BROKER_PROC && !task;
	const char *name = q->name < BROKER_NAMES ? names[q->name][task] : NULL;
	struct broker_target *t;
	struct proc_status st;
	int r;

	if (q->what >= BROKER_WHATS || q->target >= b->n_targets || (!file && !name))
		return -EPROTO;
	t = &b->targets[q->target];
	r = check_target(t, &st);
	if (r < 0)
		return r;
	if (file)
		return open_file(t->proc, &st, q);
	return task ? open_task(t->proc, q->tid, name) : open_proc(t->proc, name);
}

/* --- requests --- */

static bool serve_one(struct broker *b, int socket)
{
	CLEANUP(close_at_exit) int fd = -1;
	struct broker_request q;
	struct broker_answer a = {0};

	if (channel_receive(socket, &q, sizeof(q), NULL) < 0)
		return false;
	fd = broker_open(b, &q);
	if (fd == -EPROTO)
		return false;
	a.code = fd < 0 ? fd : 0;
	return channel_send(socket, &a, sizeof(a), fd) == 0;
}

void broker_serve(struct broker *b, int socket)
{
	while (serve_one(b, socket))
		;
}
