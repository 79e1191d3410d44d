#include "sampler/cli/targets/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/small_thread.h"

/* In the child, which until then ends with its parent; does not return. Resets signals, as a shell does. */
static void wait_and_exec(int gate, int report, char **command)
{
	sigset_t none;
	char go;
	int e;

	if (read(gate, &go, 1) != 1)
		_exit(127);
	prctl(PR_SET_PDEATHSIG, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(command[0], command);
	e = errno;
	if (write(report, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

int child_start(char **command, struct child *ret, struct err *err)
{
	int gate[2], report[2];

	if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %m");
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, waitpid(2) returns no exit status */
	ret->pid = fork();
	if (ret->pid < 0)
		return err_set(err, -errno, "cannot start '%s': %m", command[0]);
	if (ret->pid == 0) {
		close(gate[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_and_exec(gate[0], report[1], command);
	}
	close(gate[0]);
	close(report[1]);
	*ret = (struct child){.pid = ret->pid, .gate = gate[1], .exec_error = report[0], .end = -1};
	return 0;
}

/* --- a command whose parent is another process --- */

int child_prepare(char **command, struct child *ret, struct child_parent *p, struct err *err)
{
	int gate[2], report[2], end[2];

	if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0 || pipe2(end, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %m");
	signal(SIGCHLD, SIG_DFL);
	*ret = (struct child){.gate = gate[1], .exec_error = report[0], .end = end[0]};
	*p = (struct child_parent){
		.command = command, .child = ret, .gate = gate[0], .report = report[1], .end = end[1]};
	return 0;
}

/* The first process waits until Yama allows what it and its children are going to open. */
static void allow_and_exec(const struct child_parent *p, pid_t parent, pid_t tracer)
{
	const char allowed = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* before the first process knows the command, and relies on this */
	prctl(PR_SET_PTRACER, tracer); /* EINVAL without Yama */
	if (getppid() == parent && write(p->report, &allowed, 1) == 1)
		wait_and_exec(p->gate, p->report, p->command);
	_exit(127);
}

/* Only the first process has the gate open: when it ends, a command that it has not released ends too. */
int child_parent_start(void *ctx, pid_t *ret)
{
	struct child_parent *p = ctx;
	pid_t parent = getpid(), tracer = getppid();

	close(p->child->gate);
	close(p->child->exec_error);
	close(p->child->end);
	*ret = p->pid = fork();
	if (p->pid == 0)
		allow_and_exec(p, parent, tracer);
	close(p->gate);
	close(p->report);
	if (p->pid < 0)
		return -errno;
	return write(p->end, &p->pid, sizeof(p->pid)) == sizeof(p->pid) ? 0 : -EPIPE;
}

int child_know(struct child *c, struct child_parent *p, struct err *err)
{
	char allowed;
	bool known;

	close(p->gate);
	close(p->report);
	close(p->end);
	known = read(c->end, &c->pid, sizeof(c->pid)) == sizeof(c->pid) && read(c->exec_error, &allowed, 1) == 1;
	if (!known)
		return err_set(err, -ESRCH, "cannot start '%s': it has ended", p->command[0]);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return 0;
}

static int exit_status(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
}

/* It stays a zombie, so that nobody else gets its PID, and its accounts can be read. */
static void *watch(void *ctx)
{
	const struct child_parent *p = ctx;
	siginfo_t info;
	int r, status;

	do
		r = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT);
	while (r < 0 && errno == EINTR);
	status = r == 0 ? exit_status(&info) : CHILD_STATUS_UNKNOWN;
	if (write(p->end, &status, sizeof(status)) < 0)
		return NULL; /* nobody waits for it */
	return NULL;
}

int child_parent_watch(void *ctx)
{
	return small_thread_start(watch, ctx);
}

void child_parent_end(void *ctx)
{
	const struct child_parent *p = ctx;

	if (p->pid > 0)
		waitpid(p->pid, NULL, WNOHANG);
}

static short state_of(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

/* A parent that was killed has not said how the command ended. */
static bool parent_is_gone(const struct child *c)
{
	short s = state_of(c->end);

	return s && !(s & POLLIN);
}

int child_end_fd(const struct child *c)
{
	return c->end >= 0 && parent_is_gone(c) ? c->pidfd : c->end;
}

static bool said_to_be_over(const struct child *c)
{
	return parent_is_gone(c) ? c->pidfd < 0 || state_of(c->pidfd) : state_of(c->end);
}

/* --- either */

int child_release(struct child *c, const char *name, struct err *err)
{
	int e = 0;

	/* EPIPE: it was killed; its exit status will say so. */
	if (write(c->gate, "g", 1) != 1 && errno != EPIPE)
		return err_set(err, -errno, "cannot let '%s' run: %m", name);
	close(c->gate);
	c->gate = -1;
	/* execve() closes the other end; if it fails, its errno comes first. */
	if (read(c->exec_error, &e, sizeof(e)) != sizeof(e))
		e = 0;
	close(c->exec_error);
	c->exec_error = -1;
	return e ? err_set(err, -e, "cannot execute '%s': %s", name, strerror(e)) : 0;
}

/* false with *ret_errno 0: it exists. */
static bool is_over(const struct child *c, int *ret_errno)
{
	siginfo_t info = {.si_pid = 0};

	*ret_errno = 0;
	if (c->end >= 0)
		return said_to_be_over(c);
	*ret_errno = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno : 0;
	return info.si_pid == c->pid;
}

bool child_is_over(const struct child *c)
{
	int error;

	return is_over(c, &error);
}

bool child_ended(const struct child *c, int *ret_status)
{
	siginfo_t info = {.si_pid = 0};
	int error;

	if (!is_over(c, &error) && error != ECHILD)
		return false;
	if (c->end >= 0) {
		*ret_status = CHILD_STATUS_UNKNOWN;
		return parent_is_gone(c) || read(c->end, ret_status, sizeof(*ret_status)) > 0;
	}
	(void)waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG);
	*ret_status = info.si_pid == c->pid ? exit_status(&info) : CHILD_STATUS_UNKNOWN;
	return true;
}

void child_abandon(struct child *c)
{
	if (c->gate >= 0)
		close(c->gate);
	if (c->exec_error >= 0)
		close(c->exec_error);
	c->gate = c->exec_error = -1;
}
