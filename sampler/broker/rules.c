/* What may be opened below a target's root, and which events. A worker that was taken over may request anything. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/broker/maps_cache.h"
#include "sampler/broker/private.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/path_in_root.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/proc_stat.h"
#include "symbolizer/target/target_file.h"

enum { CHOSEN_MAX = 64 }; /* directories searched for a thread */

#define DEBUG_ROOT "/usr/lib/debug/"
#define OS_RELEASE "/etc/os-release" /* names the distribution that has its debug files */

/* --- paths --- */

static bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_plain(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") && !ends_with(path, "/..");
}

/* Only a regular file that belongs to the target's user and has no other name: no link, and nobody else's file. */
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

static bool is_perf_map(const struct proc_status *st, const char *path)
{
	char name[48];

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)st->ns_pid);
	return strcmp(path, name) == 0;
}

struct folder {
	const char *path;
	size_t len;
};

static bool has_folder(const struct maps *maps, const void *arg)
{
	const struct folder *f = arg;

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		const char *slash = m->inode ? strrchr(m->path, '/') : NULL;

		if (slash && (size_t)(slash - m->path) == f->len && strncmp(m->path, f->path, f->len) == 0)
			return true;
	}
	return false;
}

/* "DIR/NAME" or "DIR/.debug/NAME", where DIR holds a mapped file; gdb(1), "Debugging Information in Separate Files". */
static bool is_beside_mapped(struct broker *b, struct proc *p, const char *path)
{
	struct folder f = {path, (size_t)(strrchr(path, '/') - path)};
	struct broker_maps *maps;

	if (f.len >= 7 && strncmp(path + f.len - 7, "/.debug", 7) == 0)
		f.len -= 7;
	if (broker_maps_seek(b, p, has_folder, &f, &maps) < 0)
		return false;
	broker_maps_release(b, maps);
	return true;
}

static bool is_debug_file(struct broker *b, struct proc *p, const char *path)
{
	bool named = ends_with(path, ".debug") || ends_with(path, ".debuginfo");

	if (!is_plain(path))
		return false;
	return starts_with(path, DEBUG_ROOT ".dwz/") ||
	       (named && (starts_with(path, DEBUG_ROOT) || is_beside_mapped(b, p, path)));
}

/* Without CAP_SETUID and CAP_SETGID, this process keeps the caller's IDs, and the target would choose among the caller's files. */
static bool opens_as(const struct proc_status *st)
{
	return (uid_t)setfsuid((uid_t)-1) == st->euid && (gid_t)setfsgid((gid_t)-1) == st->egid;
}

int broker_open_path(struct broker *b, struct broker_target *t, const struct proc_status *st, const char *path)
{
	int fd, r;

	if (is_perf_map(st, path))
		return open_perf_map(t->proc, st);
	if ((strcmp(path, OS_RELEASE) != 0 && !is_debug_file(b, t->proc, path)) || !opens_as(st))
		return -EACCES;
	r = target_file_open(t->proc, path, &fd, NULL);
	return r < 0 ? r : fd;
}

/* Values that messages quote, and that every user may read. */
static bool is_setting(const char *path)
{
	static const char prefix[] = "/proc/sys/kernel/";
	static const char *const known[] = {
		"kptr_restrict",       "perf_event_max_sample_rate", "perf_event_mlock_kb",
		"perf_event_paranoid", "yama/ptrace_scope",
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && starts_with(path, prefix) && !found; i++)
		found = strcmp(path + sizeof(prefix) - 1, known[i]) == 0;
	return found;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug": hex digits only, so it leads nowhere else. */
static bool is_host_debug_file(const char *path)
{
	static const char prefix[] = DEBUG_ROOT ".build-id/";
	const char *id = path + sizeof(prefix) - 1;

	return starts_with(path, prefix) && strcmp(id + strspn(id, "0123456789abcdef/"), ".debug") == 0;
}

int broker_open_host_path(const char *path)
{
	struct stat st;
	int fd;

	if (!is_setting(path) && !is_host_debug_file(path))
		return -EACCES;
	fd = target_file_open_on_host(path);
	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -EACCES;
}

/* --- events --- */

/* The fields that the engine sets (sampler/engine/perf/events/perf_attr.c), and no others. */
static struct perf_event_attr known_fields(const struct perf_event_attr *a)
{
	struct perf_event_attr k;

	memset(&k, 0, sizeof(k));
	k.size = sizeof(k);
	k.type = a->type;
	k.config = a->config;
	k.sample_period = a->sample_period;
	k.sample_type = a->sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
					  PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
					  PERF_SAMPLE_STACK_USER | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ);
	k.read_format = a->read_format & (1u << 4); /* PERF_FORMAT_LOST of 6.0 */
	k.disabled = 1;
	k.inherit = a->inherit;
	k.inherit_thread = a->inherit_thread;
	k.inherit_stat = a->inherit_stat;
	k.exclude_hv = 1;
	k.exclude_kernel = a->exclude_kernel;
	k.exclude_idle = a->exclude_idle;
	k.exclude_callchain_user = 1;
	k.exclude_callchain_kernel = a->exclude_callchain_kernel;
	k.sample_id_all = 1;
	k.comm = a->comm;
	k.comm_exec = a->comm_exec;
	k.task = a->task;
	k.mmap = a->mmap;
	k.mmap2 = a->mmap2;
	k.use_clockid = 1;
	k.clockid = a->clockid;
	k.watermark = a->watermark;
	k.wakeup_events = a->wakeup_events;
	k.sample_regs_user = a->sample_regs_user;
	k.sample_stack_user = a->sample_stack_user;
	return k;
}

static bool is_allowed(const struct broker *b, const struct perf_event_attr *a)
{
	const struct perf_event_attr k = known_fields(a);

	if (memcmp(&k, a, sizeof(k)) != 0)
		return false;
	for (size_t i = 0; i < b->n_events; i++)
		if (a->type == b->events[i].type && a->config == b->events[i].config)
			return true;
	return false;
}

/* On all processes at once, only events that count nothing are allowed, unless they have the filter. */
static bool is_place(const struct broker_request *q, int filter_fd, pid_t tid)
{
	bool all = filter_fd >= 0 || (q->attr.type == PERF_TYPE_SOFTWARE && q->attr.config == PERF_COUNT_SW_DUMMY);

	return tid > 0 || (tid == -1 && all);
}

static bool may_open(const struct broker *b, const struct broker_request *q, int filter_fd)
{
	bool ok = q->name > 0 && q->name <= EVENT_PLACES_MAX && is_allowed(b, &q->attr);

	for (uint32_t i = 0; ok && i < q->name; i++)
		ok = is_place(q, filter_fd, q->places[i].tid);
	return ok;
}

/* The thread's directory in /proc, which never becomes another thread's; or -errno. */
static int open_thread(pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

static int group_of(int thread, pid_t *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_status st;
	int r = file_read_at(thread, "status", 64 << 10, &text, NULL);

	if (r == 0)
		r = proc_status_parse(text, &st);
	if (r == 0)
		*ret = st.tgid;
	return r == -ENOENT ? -ESRCH : r;
}

static int open_event(const struct broker_request *q, const struct event_place *p, int filter_fd)
{
	struct perf_event_attr a = q->attr;
	CLEANUP(close_at_exit) int fd = -1;

	a.sample_stack_user = p->stack_bytes;
	fd = (int)syscall(SYS_perf_event_open, &a, p->tid, p->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || (filter_fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, filter_fd) < 0))
		return -errno;
	return take_fd(&fd);
}

/* For a process that the program chose: its directory is open, so no text of /proc has to be parsed. */
static int open_chosen(struct broker *b, pid_t tid, uint32_t *ret_number)
{
	struct broker_target *t;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "task/%d", (int)tid);
	for (uint32_t i = 0; i < b->n_chosen && i < CHOSEN_MAX; i++) {
		if (broker_target_use(b, i, &t, NULL) < 0)
			continue;
		fd = openat(proc_dirfd(t->proc), path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			*ret_number = i;
			return fd;
		}
		broker_target_release(b, i);
	}
	return -ESRCH;
}

/* For a process that a target started. */
static int open_started(struct broker *b, pid_t tid, uint32_t *ret_number)
{
	CLEANUP(close_at_exit) int thread = open_thread(tid);
	struct broker_target *t;
	pid_t group;
	int r = thread < 0 ? thread : group_of(thread, &group);

	if (r == 0)
		r = broker_target_find(b, group, ret_number);
	if (r < 0)
		return r;
	r = broker_target_use(b, *ret_number, &t, NULL);
	broker_target_forget(b, *ret_number);
	return r < 0 ? r : take_fd(&thread);
}

/* Events of one thread, or of all processes on some CPUs. */
struct group {
	const struct broker_request *q;
	const struct event_place *places;
	size_t n;
	int *fds;
};

static int open_group(const struct group *g, int filter_fd, size_t *ret_opened)
{
	int fd = 0;

	for (*ret_opened = 0; *ret_opened < g->n; ++*ret_opened) {
		fd = open_event(g->q, &g->places[*ret_opened], filter_fd);
		if (fd < 0)
			return fd;
		g->fds[*ret_opened] = fd;
	}
	return 0;
}

/* The directory belongs to the thread that it was opened for, and is empty once that thread has ended. */
static int open_thread_events(struct broker *b, const struct group *g, size_t *ret_opened)
{
	pid_t tid = g->places[0].tid;
	uint32_t number;
	CLEANUP(close_at_exit) int thread = open_chosen(b, tid, &number);
	int r = 0, checked;

	*ret_opened = 0;
	if (thread < 0)
		r = thread = open_started(b, tid, &number);
	if (r < 0)
		return r;
	r = open_group(g, -1, ret_opened);
	checked = faccessat(thread, "comm", F_OK, 0) < 0 ? -ESRCH : broker_target_recheck(&b->targets[number], false);
	if (checked < 0) {
		close_all(g->fds, *ret_opened);
		*ret_opened = 0;
	}
	broker_target_release(b, number);
	return r < 0 ? r : checked;
}

static size_t same_thread(const struct broker_request *q, size_t from)
{
	size_t to = from + 1;

	while (to < q->name && q->places[to].tid == q->places[from].tid)
		to++;
	return to - from;
}

int broker_open_events(struct broker *b, const struct broker_request *q, int filter_fd, int *fds, size_t *ret_opened)
{
	int r = 0;

	*ret_opened = 0;
	if (!may_open(b, q, filter_fd))
		return -EPROTO;
	for (size_t i = 0; r == 0 && i < q->name; i = *ret_opened) {
		const struct group g = {q, &q->places[i], same_thread(q, i), &fds[i]};
		size_t opened;

		r = g.places->tid > 0 ? open_thread_events(b, &g, &opened) : open_group(&g, filter_fd, &opened);
		*ret_opened += opened;
	}
	return r;
}
