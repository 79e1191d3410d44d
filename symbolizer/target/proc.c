#include "symbolizer/target/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/proc_stat.h"

/* The inode number of the initial PID namespace, PROC_PID_INIT_INO in linux/proc_ns.h. */
#define INIT_PID_NS_INO 0xEFFFFFFCu

enum {
	STAT_MAX = 4096,
	STATUS_MAX = 64 << 10,
	FLAG_EXITING = 0x4, /* PF_EXITING, linux/sched.h, */
	FLAG_KERNEL = 0x200000, /* and PF_KTHREAD */
	END_WAIT_MS = 200,
	END_LOOK_MS = 5,
	CMDLINE_MAX = 8 << 20, /* more than execve(2) accepts by default */
};

struct proc {
	pid_t pid;
	int dirfd; /* -1: opened by the deputy */
	int pidfd; /* -1: pidfd_open(2) is refused, or the kernel is older than 5.3 */
	uint64_t start;
	bool is_kernels;
	_Atomic int64_t number; /* the deputy's number for it; -1: not asked yet */
};

void proc_close(struct proc *p)
{
	if (!p)
		return;
	if (p->dirfd >= 0)
		close(p->dirfd);
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->number >= 0)
		deputy()->release(deputy()->ctx, (uint32_t)p->number);
	free(p);
}

static void proc_close_at_exit(struct proc **p)
{
	proc_close(*p);
}

/* A process that was opened before there was a deputy gets its number when it is first needed. */
static int deputy_number(const struct deputy *d, struct proc *p, uint32_t *ret)
{
	int pidfd, r;

	if (p->number < 0) {
		r = d->find(d->ctx, p->pid, ret, &pidfd);
		if (r < 0)
			return r;
		if (pidfd >= 0)
			close(pidfd);
		p->number = *ret;
	}
	*ret = (uint32_t)p->number;
	return 0;
}

int proc_file(struct proc *p, pid_t tid, const char *name)
{
	const struct deputy *d = deputy();
	char path[64];
	uint32_t number;
	int fd, r;

	if (tid < 0)
		return -ENOENT;
	if (d) {
		r = deputy_number(d, p, &number);
		return r < 0 ? r : d->file(d->ctx, number, tid, name);
	}
	if (tid)
		snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	fd = openat(p->dirfd, tid ? path : name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int proc_number(struct proc *p, uint32_t *ret)
{
	return deputy_number(deputy(), p, ret);
}

static int read_file(struct proc *p, pid_t tid, const char *name, size_t max, char **ret, size_t *ret_len)
{
	CLEANUP(close_at_exit) int fd = proc_file(p, tid, name);

	return fd < 0 ? fd : file_read_fd(fd, max, ret, ret_len);
}

static int stat_read(struct proc *p, pid_t tid, struct proc_stat *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	int r = read_file(p, tid, "stat", STAT_MAX, &text, NULL);

	return r < 0 ? r : proc_stat_parse(text, ret);
}

/* A process whose first thread has ended looks like a zombie while other threads run. */
static bool stat_alive(const struct proc_stat *s)
{
	return s->state != 'X' && s->state != 'x' && (s->state != 'Z' || s->n_threads > 1);
}

static int no_process(struct err *err, pid_t pid)
{
	return err_set(err, -ESRCH, "there is no process %d%s", (int)pid, proc_own_pids_advice());
}

/*
 * Names the process: /proc/TID exists for every thread, though it is not listed. pidfd_open(2) refuses all threads but
 * the first, so where there is a pidfd, `status` need not be read, which takes three times as long as `stat`.
 */
static int check_leader(struct proc *p, struct err *err)
{
	struct proc_status s;
	int r = p->pidfd >= 0 ? 0 : proc_status(p, &s);

	if (p->pidfd >= 0)
		return 0;
	if (r < 0 && r != -ESRCH)
		return err_set(err, r, "cannot read /proc/%d/status", (int)p->pid);
	if (r < 0)
		return no_process(err, p->pid);
	if (s.tgid != p->pid)
		return err_set(err, -ESRCH, "%d is a thread of process %d: use -p %d", (int)p->pid, (int)s.tgid,
			       (int)s.tgid);
	return 0;
}

static int open_here(struct proc *p)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)p->pid);
	p->dirfd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->dirfd < 0)
		return -errno;
	/* Opened before stat is read through dirfd: if the process is alive then, pidfd refers to it. */
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return 0;
}

static int find_by_deputy(struct proc *p)
{
	uint32_t number;
	int r = deputy()->find(deputy()->ctx, p->pid, &number, &p->pidfd);

	if (r == 0)
		p->number = number;
	return r;
}

int proc_open(pid_t pid, struct proc **ret, struct err *err)
{
	CLEANUP(proc_close_at_exit) struct proc *p = calloc(1, sizeof(*p));
	struct proc_stat s;
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->pid = pid;
	p->dirfd = p->pidfd = -1;
	p->number = -1;
	r = pid <= 0 ? -ESRCH : deputy() ? find_by_deputy(p) : open_here(p);
	if (r == -ENOENT || r == -ESRCH)
		return no_process(err, pid);
	if (r < 0)
		return err_set(err, r, "cannot open /proc/%d: %s", (int)pid, strerror(-r));
	r = stat_read(p, 0, &s);
	if (r < 0 && r != -ENOENT && r != -ESRCH)
		return err_set(err, r, "cannot read /proc/%d/stat: %s", (int)pid, strerror(-r));
	if (r < 0 || !stat_alive(&s))
		return no_process(err, pid);
	p->start = s.start;
	p->is_kernels = s.flags & FLAG_KERNEL;
	r = check_leader(p, err);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

int proc_dirfd(const struct proc *p)
{
	return p->dirfd;
}

int proc_pidfd(const struct proc *p)
{
	return p->pidfd;
}

bool proc_is_kernels(const struct proc *p)
{
	return p->is_kernels;
}

uint64_t proc_start_ticks(const struct proc *p)
{
	return p->start;
}

/* A pidfd becomes readable when the last thread has ended; polling it costs a tenth of reading stat. Even a poll() that
 * does not wait may fail with EINTR (do_poll() in linux/fs/select.c). */
bool proc_alive(struct proc *p)
{
	struct pollfd poll_pid = {.fd = p->pidfd, .events = POLLIN};
	struct proc_stat s;

	if (p->pidfd >= 0)
		return poll(&poll_pid, 1, 0) <= 0;
	return stat_read(p, 0, &s) == 0 && s.start == p->start && stat_alive(&s);
}

int proc_started(pid_t pid, uint64_t *ret_ticks)
{
	struct proc *p;
	int r = proc_open(pid, &p, NULL);

	if (r < 0)
		return r;
	*ret_ticks = proc_start_ticks(p);
	r = proc_alive(p) ? 0 : -ESRCH;
	proc_close(p);
	return r;
}

bool proc_is_there(pid_t pid, uint64_t start_ticks)
{
	uint64_t ticks;

	return proc_started(pid, &ticks) == 0 && ticks == start_ticks;
}

enum end { GOES_ON, ENDING, ENDED };

/* Memory and mapped files go with the threads, one by one, before the process has ended. */
static enum end end_of(struct proc *p)
{
	struct proc_stat s;
	int r = stat_read(p, 0, &s);

	if (!proc_alive(p) || r == -ESRCH || r == -ENOENT)
		return ENDED;
	/* A program that may not be read has not ended. */
	return r == 0 && s.flags & FLAG_EXITING ? ENDING : GOES_ON;
}

bool proc_exiting(struct proc *p)
{
	return end_of(p) != GOES_ON;
}

bool proc_gone(struct proc *p)
{
	for (int ms = 0; ms < END_WAIT_MS; ms += END_LOOK_MS) {
		enum end end = end_of(p);

		if (end != ENDING)
			return end == ENDED;
		poll(NULL, 0, END_LOOK_MS);
	}
	return !proc_alive(p);
}

int proc_state(struct proc *p, char *ret)
{
	struct proc_stat s;
	int r = stat_read(p, 0, &s);

	if (r == 0)
		*ret = s.state;
	return r;
}

bool proc_first_ended(struct proc *p)
{
	struct proc_stat s;

	return stat_read(p, 0, &s) == 0 && s.state == 'Z' && s.n_threads > 1;
}

int proc_read(struct proc *p, const char *name, size_t max, char **ret, size_t *ret_len)
{
	int r = read_file(p, 0, name, max, ret, ret_len);

	/* The directory of a process that has ended looks empty. */
	return r == -ENOENT && !proc_alive(p) ? -ESRCH : r;
}

int proc_read_task(struct proc *p, pid_t tid, const char *name, size_t max, char **ret, size_t *ret_len)
{
	int r = read_file(p, tid, name, max, ret, ret_len);

	return r == -ENOENT ? -ESRCH : r;
}

int proc_status(struct proc *p, struct proc_status *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	int r = proc_read(p, "status", STATUS_MAX, &text, NULL);

	return r < 0 ? r : proc_status_parse(text, ret);
}

int proc_ns_tid(struct proc *p, pid_t tid, pid_t *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_status s;
	int r = proc_read_task(p, tid, "status", STATUS_MAX, &text, NULL);

	if (r < 0)
		return r;
	r = proc_status_parse(text, &s);
	if (r == 0)
		*ret = s.ns_pid;
	return r;
}

static ssize_t read_exe_link(struct proc *p, char *buf, size_t size)
{
	CLEANUP(close_at_exit) int fd = deputy() ? proc_file(p, 0, "exe") : -1;
	ssize_t n;

	if (deputy() && fd < 0)
		return fd;
	n = fd < 0 ? readlinkat(p->dirfd, "exe", buf, size) : read(fd, buf, size);
	return n < 0 ? -errno : n;
}

int proc_exe(struct proc *p, char *buf, size_t size)
{
	ssize_t n;

	if (size == 0)
		return -EINVAL;
	buf[0] = '\0';
	n = read_exe_link(p, buf, size);
	if (n < 0)
		return n == -ENOENT && !proc_alive(p) ? -ESRCH : (int)n;
	if ((size_t)n >= size) {
		buf[0] = '\0';
		return -ENAMETOOLONG;
	}
	buf[n] = '\0';
	return 0;
}

int proc_comm(struct proc *p, pid_t tid, char *buf, size_t size)
{
	CLEANUP(free_at_exit) char *text = NULL;
	size_t len;
	int r;

	if (size == 0)
		return -EINVAL;
	buf[0] = '\0';
	r = proc_read_task(p, tid, "comm", STAT_MAX, &text, &len);
	if (r < 0)
		return r;
	/* The kernel adds one line end; any others belong to the name. */
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	snprintf(buf, size, "%s", text);
	return 0;
}

int proc_cmdline(struct proc *p, char **ret, size_t *ret_len)
{
	return proc_read(p, "cmdline", CMDLINE_MAX, ret, ret_len);
}

/* --- Namespaces */

static const char *const namespaces[] = {"pid", "mnt", "user", "net"};
enum { NAMESPACES = sizeof(namespaces) / sizeof(namespaces[0]) };

static struct {
	bool known;
	struct stat st;
} own_namespaces[NAMESPACES];

static bool stat_own(const char *ns, struct stat *ret)
{
	char path[32];

	for (int i = 0; i < NAMESPACES; i++)
		if (own_namespaces[i].known && strcmp(ns, namespaces[i]) == 0) {
			*ret = own_namespaces[i].st;
			return true;
		}
	snprintf(path, sizeof(path), "/proc/self/ns/%s", ns);
	return stat(path, ret) == 0;
}

void proc_note_own_namespaces(void)
{
	for (int i = 0; i < NAMESPACES; i++)
		own_namespaces[i].known = stat_own(namespaces[i], &own_namespaces[i].st);
}

bool proc_initial_pids(void)
{
	struct stat st;

	return stat_own("pid", &st) && st.st_ino == INIT_PID_NS_INO;
}

bool proc_own_pids(void)
{
	struct stat st;

	return stat_own("pid", &st) && st.st_ino != INIT_PID_NS_INO;
}

const char *proc_own_pids_advice(void)
{
	return proc_own_pids() ?
		       "; jsampler is in a PID namespace of its own: to see the host's processes, run the container "
		       "with the host's (--pid=host; in Kubernetes, hostPID: true)" :
		       "";
}

int proc_ns(struct proc *p, const char *ns, struct stat *ret)
{
	char path[32];
	int fd, r;

	snprintf(path, sizeof(path), "ns/%s", ns);
	if (!deputy())
		return fstatat(p->dirfd, path, ret, 0) < 0 ? -errno : 0;
	fd = proc_file(p, 0, path);
	if (fd < 0)
		return fd;
	r = fstat(fd, ret) < 0 ? -errno : 0;
	close(fd);
	return r;
}

bool proc_same_ns(struct proc *p, const char *ns)
{
	struct stat mine, theirs;

	if (!stat_own(ns, &mine) || proc_ns(p, ns, &theirs) < 0)
		return true;
	return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

/* --- CPU time, CPUs, ages */

/*
 * The process's CPU clock counts nanoseconds and includes threads that have ended; stat counts ticks.
 * clock_getcpuclockid(3) derives the clock's id from the PID alone, so check afterwards that the process still exists:
 * dirfd stops working once it has been waited for.
 */
int proc_cpu_ns(struct proc *p, uint64_t *ret)
{
	struct proc_stat s;
	clockid_t clock;
	uint64_t ns;
	int r;

	if (clock_getcpuclockid(p->pid, &clock) == 0 && clock_read_ns(clock, &ns)) {
		r = stat_read(p, 0, &s);
		*ret = ns;
		return r == -ENOENT ? -ESRCH : r;
	}
	r = stat_read(p, 0, &s);
	if (r == -ENOENT)
		r = -ESRCH;
	if (r == 0)
		*ret = proc_ticks_ns(s.utime + s.stime);
	return r;
}

int proc_waited_cpu_ns(struct proc *p, uint64_t *ret)
{
	struct proc_stat s;
	int r = stat_read(p, 0, &s);

	if (r == 0)
		*ret = proc_ticks_ns(s.cutime + s.cstime);
	return r == -ENOENT ? -ESRCH : r;
}

static int thread_stat(struct proc *p, pid_t tid, struct proc_stat *ret)
{
	int r = stat_read(p, tid, ret);

	return r == -ENOENT ? -ESRCH : r;
}

int proc_system_ns(struct proc *p, pid_t tid, uint64_t *ret)
{
	struct proc_stat s;
	int r = tid ? thread_stat(p, tid, &s) : stat_read(p, 0, &s);

	if (r == 0)
		*ret = proc_ticks_ns(s.stime);
	return r;
}

int proc_thread_age_ns(struct proc *p, pid_t tid, uint64_t *ret)
{
	struct proc_stat s;
	struct timespec now;
	uint64_t now_ns;
	int r = thread_stat(p, tid, &s);

	if (r < 0)
		return r;
	clock_gettime(CLOCK_BOOTTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	*ret = now_ns > proc_ticks_ns(s.start) ? now_ns - proc_ticks_ns(s.start) : 0;
	return 0;
}

int proc_thread_cpu(struct proc *p, pid_t tid, int *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	int r = proc_read_task(p, tid, "stat", STAT_MAX, &text, NULL);

	return r < 0 ? r : proc_stat_cpu(text, ret);
}

/* Without CONFIG_SCHED_INFO the kernel has no schedstat, so use ticks. */
int proc_thread_cpu_ns(struct proc *p, pid_t tid, uint64_t *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_stat s;
	int r = proc_read_task(p, tid, "schedstat", STAT_MAX, &text, NULL);

	if (r == 0)
		return sscanf(text, "%" SCNu64, ret) == 1 ? 0 : -EINVAL;
	if (r != -ESRCH)
		return r;
	r = thread_stat(p, tid, &s);
	if (r == 0)
		*ret = proc_ticks_ns(s.utime + s.stime);
	return r;
}
