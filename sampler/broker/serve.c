/* The child's end of a broker: what it opens, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/broker/maps_cache.h"
#include "sampler/broker/private.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/small_thread.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/service_names.h"
#include "symbolizer/target/target_file.h"

enum { NICE_MIN = -10, SYSCALL_MAX = 512 };

/* MFD_NOEXEC_SEAL of linux/memfd.h 6.3, without which vm.memfd_noexec=2 refuses the file. */
enum { NOEXEC_SEAL = 8 };

static const char *const names[BROKER_NAMES][2] = {
	[BROKER_MEM] = {"mem", NULL},
	[BROKER_MAPS] = {"maps", NULL},
	[BROKER_STAT] = {"stat", "stat"},
	[BROKER_STATUS] = {"status", "status"},
	[BROKER_CMDLINE] = {"cmdline", NULL},
	[BROKER_COMM] = {"comm", "comm"},
	[BROKER_SCHEDSTAT] = {"schedstat", "schedstat"},
	[BROKER_SYSCALL] = {NULL, "syscall"},
	[BROKER_CHILDREN] = {NULL, "children"},
	[BROKER_CGROUP] = {"cgroup", NULL},
	[BROKER_TASKS] = {"task", NULL},
	[BROKER_EXE] = {"exe", NULL},
	[BROKER_ENVIRON] = {"environ", NULL},
	[BROKER_NS_PID] = {"ns/pid", NULL},
	[BROKER_NS_MNT] = {"ns/mnt", NULL},
	[BROKER_NS_USER] = {"ns/user", NULL},
	[BROKER_NS_NET] = {"ns/net", NULL},
};

const char *broker_name(uint32_t name, bool task)
{
	return name < BROKER_NAMES ? names[name][task] : NULL;
}

/* --- files --- */

int broker_memory_file(unsigned flags)
{
	int fd = memfd_create("jsampler", MFD_CLOEXEC | NOEXEC_SEAL | flags);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("jsampler", MFD_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/* Holds text that is not from a file, and that nobody can write to. */
static int make_file(const void *bytes, size_t len)
{
	CLEANUP(close_at_exit) int fd = broker_memory_file(0);
	char self[40];
	ssize_t n;
	int r;

	if (fd < 0)
		return fd;
	n = write(fd, bytes, len);
	if (n != (ssize_t)len)
		return n < 0 ? -errno : -EIO;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	r = open(self, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int open_exe(struct proc *p)
{
	char path[PATH_MAX];
	ssize_t n = readlinkat(proc_dirfd(p), "exe", path, sizeof(path));

	return n < 0 ? -errno : make_file(path, (size_t)n);
}

static int copy_environ(struct proc *p)
{
	CLEANUP(free_at_exit) char *text = NULL;
	size_t len = 0;
	int r = service_names_read(p, &text, &len);

	return r < 0 ? r : make_file(text, len);
}

/* A descriptor of /proc/PID refers to that process, or to none once it has ended. */
static int open_proc(struct proc *p, uint32_t name)
{
	bool ns = name >= BROKER_NS_PID;
	int fd;

	if (name == BROKER_EXE) {
		fd = open_exe(p);
	} else if (name == BROKER_ENVIRON) {
		fd = copy_environ(p);
	} else {
		fd = openat(proc_dirfd(p), names[name][0],
			    (ns ? O_PATH : O_RDONLY | O_NOFOLLOW | O_NOCTTY) | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	return fd == -ENOENT ? -ESRCH : fd;
}

static int open_task(struct proc *p, int32_t tid, const char *name)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	fd = openat(proc_dirfd(p), path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

/*
 * The kernel checks at each read whether the reader may trace the thread, so the content is passed instead of the file.
 */
static int copy_syscall(struct proc *p, int32_t tid)
{
	CLEANUP(close_at_exit) int fd = open_task(p, tid, "syscall");
	char text[SYSCALL_MAX];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text));
	return n < 0 ? -errno : make_file(text, (size_t)n);
}

static int open_descendants(struct proc *p)
{
	CLEANUP(free_at_exit) pid_t *pids = NULL;
	size_t n;
	int r = proc_descendants(p, &pids, &n);

	return r < 0 ? r : make_file(pids, n * sizeof(*pids));
}

/* For the calling thread. The kernel does the same when fsuid changes from or to 0, but only then: capabilities(7). */
static void pass_over_permissions(bool on)
{
	const uint32_t rights = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	sets[0].effective = (sets[0].effective & ~rights) | (on ? sets[0].permitted & rights : 0);
	syscall(SYS_capset, &header, sets);
}

/*
 * Acts as the target, whose files these are: on a host, its root directory is everybody's. credentials(7), setfsuid(2).
 */
static void become(const struct proc_status *st)
{
	setfsgid(st->egid);
	setfsuid(st->euid);
	pass_over_permissions(st->euid == 0);
}

static void return_to_self(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
	pass_over_permissions(true);
}

/* Cached mappings may be out of date. */
static bool has_that_file(const struct maps *maps, const void *request)
{
	const struct broker_request *q = request;
	const struct mapping *m = maps_find(maps, q->start);

	return m && m->inode && m->inode == q->inode && m->dev_major == q->dev_major && m->dev_minor == q->dev_minor;
}

static int open_mapped(struct broker *b, struct proc *p, const struct broker_request *q)
{
	struct broker_maps *maps;
	int fd, r = broker_maps_seek(b, p, has_that_file, q, &maps);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	r = target_file_open_mapping(p, maps_find(broker_maps_of(maps), q->start), &fd, NULL);
	broker_maps_release(b, maps);
	return r < 0 ? r : fd;
}

static int open_file(struct broker *b, struct broker_target *t, const struct proc_status *st,
		     const struct broker_request *q)
{
	int r, opening = broker_opening_begin(b, st->euid);

	if (opening < 0)
		return opening;
	become(st);
	r = broker_bring_near(b, opening,
			      q->what == BROKER_MAPPED ? open_mapped(b, t->proc, q) :
							 broker_open_path(b, t, st, q->path));
	return_to_self();
	broker_opening_end(b, opening);
	return r == -EPROTO ? -EIO : r; /* a target's file system may return anything (fuse(4)) */
}

static bool is_named(const struct broker_request *q)
{
	return q->what == BROKER_PROC || q->what == BROKER_TASK;
}

static int open_named(struct proc *p, const struct broker_request *q)
{
	if (q->what == BROKER_PROC)
		return open_proc(p, q->name);
	return q->name == BROKER_SYSCALL ? copy_syscall(p, q->tid) : open_task(p, q->tid, broker_name(q->name, true));
}

/* Files are opened as the owner in `st`. */
static int open_of_target(struct broker *b, struct broker_target *t, const struct proc_status *st,
			  const struct broker_request *q)
{
	if (is_named(q))
		return open_named(t->proc, q);
	return q->what == BROKER_DESCENDANTS ? open_descendants(t->proc) : open_file(b, t, st, q);
}

/* Files that every user may read, see proc(5). */
static bool is_open_to_all(const struct broker_request *q)
{
	static const bool open[BROKER_NAMES] = {
		[BROKER_STAT] = true,      [BROKER_STATUS] = true, [BROKER_CMDLINE] = true, [BROKER_COMM] = true,
		[BROKER_SCHEDSTAT] = true, [BROKER_CGROUP] = true, [BROKER_TASKS] = true,
	};

	return q->what == BROKER_DESCENDANTS || (is_named(q) && open[q->name]);
}

/*
 * Checks after opening. Of a process that has ended, only the accounts are passed: it may have executed a program with
 * more rights before, and what was opened may belong to that.
 */
static bool may_pass(const struct broker_target *t, const struct broker_request *q)
{
	bool text = is_named(q) && q->name != BROKER_MEM && q->name != BROKER_SYSCALL;

	return broker_target_recheck(t, is_open_to_all(q)) == 0 &&
	       (text || q->what == BROKER_DESCENDANTS || proc_alive(t->proc));
}

static int serve_target(struct broker *b, const struct broker_request *q)
{
	bool named = is_named(q);
	struct broker_target *t;
	struct proc_status st;
	int r;

	if (named && !broker_name(q->name, q->what == BROKER_TASK))
		return -EPROTO;
	if (q->what == BROKER_TASK && q->tid <= 0)
		return -EPROTO;
	/* Opening the file as root does no harm: the content is passed only once its owner is known. */
	r = broker_target_use(b, q->target, &t, named ? NULL : &st);
	if (r < 0)
		return r;
	r = open_of_target(b, t, &st, q);
	if (r >= 0 && !may_pass(t, q)) {
		close(r);
		r = -EPERM;
	}
	broker_target_release(b, q->target);
	return r;
}

/* --- the others --- */

static int allow_event(struct broker *b, const struct perf_event_attr *a)
{
	if (b->begun || b->n_events == DEPUTY_EVENTS)
		return -EPROTO;
	b->events[b->n_events++] = (struct deputy_event){a->type, a->config};
	return 0;
}

static int send_signal(struct broker *b, int signal)
{
	struct broker_target *t;
	struct proc_status st;
	int r;

	if (b->command < 0 || (signal != SIGTERM && signal != SIGHUP))
		return -EPROTO;
	r = broker_target_use(b, (uint32_t)b->command, &t, &st);
	if (r == -EPERM) /* it runs a setuid program: its user may signal it with kill(1) */
		return r;
	if (r < 0)
		return r;
	if (proc_pidfd(t->proc) >= 0)
		r = syscall(SYS_pidfd_send_signal, proc_pidfd(t->proc), signal, NULL, 0) < 0 ? -errno : 0;
	else
		r = kill(t->pid, signal) < 0 ? -errno : 0;
	broker_target_release(b, (uint32_t)b->command);
	return r;
}

static int set_priority(pid_t tid, bool realtime, int nice)
{
	const struct sched_param lowest = {.sched_priority = 1};
	int r = realtime ? sched_setscheduler(tid, SCHED_RR, &lowest) : setpriority(PRIO_PROCESS, (id_t)tid, nice);

	return r < 0 ? -errno : 0;
}

/* The priority of a thread that nobody has raised. */
static void set_no_priority(pid_t tid)
{
	(void)sched_setscheduler(tid, SCHED_OTHER, &(struct sched_param){0});
	(void)setpriority(PRIO_PROCESS, (id_t)tid, 0);
}

/*
 * Only for the worker's threads, which are no longer allowed to do this themselves. While the worker is the parent, its
 * PID is not reused. A TID may be, if the thread is just ending. Its directory, which never becomes another thread's,
 * shows that; then the priority of the new thread with that TID was raised instead, and is reset.
 */
static int schedule(struct broker *b, const struct broker_request *q)
{
	CLEANUP(close_at_exit) int thread = -1;
	char path[64];
	int r;

	if (q->tid <= 0 || q->name > 1 || q->cpu < NICE_MIN || q->cpu > 0)
		return -EPROTO;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)b->worker, (int)q->tid);
	thread = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (getppid() != b->worker || thread < 0)
		return -ESRCH;
	r = set_priority(q->tid, q->name, q->cpu);
	if (r == 0 && faccessat(thread, "comm", F_OK, 0) < 0) {
		set_no_priority(q->tid);
		r = -ESRCH;
	}
	/* The thread that answers on this channel must not wait behind others for a CPU either. */
	return r < 0 ? r : set_priority(gettid(), q->name, q->cpu);
}

static int find(struct broker *b, pid_t pid, struct broker_answer *a, int *ret_fd)
{
	struct broker_target *t;
	struct proc_status st;
	int r = pid > 0 ? broker_target_find(b, pid, &a->target) : -EPROTO;

	if (r < 0)
		return r;
	r = broker_target_use(b, a->target, &t, &st);
	if (r < 0) {
		broker_target_forget(b, a->target);
		return r;
	}
	*ret_fd = proc_pidfd(t->proc) < 0 ? -1 : fcntl(proc_pidfd(t->proc), F_DUPFD_CLOEXEC, 0);
	broker_target_release(b, a->target);
	return 0;
}

static int open_host_file(struct broker *b, const struct broker_request *q)
{
	int r, opening = broker_opening_begin(b, geteuid());

	if (opening < 0)
		return opening;
	r = broker_bring_near(b, opening, broker_open_host_path(q->path));
	broker_opening_end(b, opening);
	return r;
}

static int open_own_stat(void)
{
	int fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int connect_thread(struct broker *b, int *ret_fd);

/* 0, with or without a descriptor to pass, or -errno; -EPROTO: not a request that a worker of this program makes. */
static int answer(struct broker *b, const struct broker_request *q, struct broker_answer *a, int *ret_fd)
{
	int r;

	switch (q->what) {
	case BROKER_ALLOW_EVENT: return allow_event(b, &q->attr);
	case BROKER_CONNECT: return connect_thread(b, ret_fd);
	case BROKER_FIND: return find(b, q->tid, a, ret_fd);
	case BROKER_RELEASE: return broker_target_forget(b, q->target), 0;
	case BROKER_SCHEDULE: return schedule(b, q);
	case BROKER_SIGNAL: return send_signal(b, q->tid);
	case BROKER_HOST_PATH: r = open_host_file(b, q); break;
	case BROKER_OWN_STAT: r = open_own_stat(); break;
	case BROKER_PROC:
	case BROKER_TASK:
	case BROKER_DESCENDANTS:
	case BROKER_MAPPED:
	case BROKER_PATH: r = serve_target(b, q); break;
	default: return -EPROTO;
	}
	*ret_fd = r;
	return r < 0 ? r : 0;
}

/* 0 or -errno: the other end is closed; -EPROTO: the worker was taken over or is broken, and gets no more answers. */
static int serve_events(struct broker *b, const struct broker_request *q, int with, int socket)
{
	struct broker_answer a = {0};
	int fds[EVENT_PLACES_MAX], r;
	size_t n;

	a.code = broker_open_events(b, q, with, fds, &n);
	if (a.code == -EPROTO)
		return -EPROTO;
	a.target = (uint32_t)n;
	r = channel_send_fds(socket, &a, sizeof(a), fds, n);
	close_all(fds, n);
	return r;
}

/* The same. *ret_what: the request; BROKER_WHATS: none that is known. */
static int serve_one(struct broker *b, int socket, uint32_t *ret_what)
{
	CLEANUP(close_at_exit) int with = -1, fd = -1;
	struct broker_request q;
	struct broker_answer a = {0};

	int r = channel_receive(socket, &q, sizeof(q), &with);

	*ret_what = r == 0 && q.what < BROKER_WHATS ? q.what : BROKER_WHATS;
	if (r < 0)
		return r;
	if (q.what != BROKER_ALLOW_EVENT)
		b->begun = true;
	if (q.what == BROKER_EVENTS)
		return serve_events(b, &q, with, socket);
	q.path[sizeof(q.path) - 1] = '\0';
	a.code = with >= 0 ? -EPROTO : answer(b, &q, &a, &fd);
	if (a.code == -EPROTO)
		return -EPROTO;
	return channel_send(socket, &a, sizeof(a), fd);
}

/* --- channels --- */

struct channel {
	struct broker *b;
	int socket;
};

/* False: there are too many. */
static bool count_channel(struct broker *b, int by)
{
	bool ok;

	pthread_mutex_lock(&b->lock);
	ok = by < 0 || b->n_channels < BROKER_CHANNELS_MAX;
	if (ok)
		b->n_channels += (size_t)by;
	pthread_mutex_unlock(&b->lock);
	return ok;
}

static void *serve_channel(void *arg)
{
	struct channel c = *(struct channel *)arg;
	uint32_t what;
	int r;

	free(arg);
	do
		r = serve_one(c.b, c.socket, &what);
	while (r == 0);
	if (r == -EPROTO)
		_exit(BROKER_REFUSAL + (int)what); /* ends all channels */
	close(c.socket);
	count_channel(c.b, -1);
	return NULL;
}

/* b has counted it already. */
static int open_channel(struct broker *b, int *ret_fd)
{
	struct channel *c = malloc(sizeof(*c));
	int pair[2], r = c ? channel_pair(pair) : -ENOMEM;

	if (r == 0) {
		*c = (struct channel){b, pair[0]};
		r = small_thread_start(serve_channel, c);
		if (r == 0) {
			*ret_fd = pair[1];
			return 0;
		}
		close(pair[0]);
		close(pair[1]);
	}
	free(c);
	return r;
}

static int connect_thread(struct broker *b, int *ret_fd)
{
	int r = count_channel(b, 1) ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	r = open_channel(b, ret_fd);
	if (r < 0)
		count_channel(b, -1);
	return r;
}

void broker_serve(struct broker *b, int socket)
{
	uint32_t what;

	while (serve_one(b, socket, &what) == 0)
		;
}
