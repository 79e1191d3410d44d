#include "sampler/cli/targets/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/err.h"

/* In the child; does not return. Resets signals, as a shell does. */
static void wait_and_exec(int gate, int report, char **command)
{
	sigset_t none;
	char go;
	int e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
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
		wait_and_exec(gate[0], report[1], command);
	}
	close(gate[0]);
	close(report[1]);
	ret->gate = gate[1];
	ret->exec_error = report[0];
	return 0;
}

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

/* false with *ret_errno 0: it exists. If a thread of ours traces it, waitid() also reports its stops: wait(2). */
static bool is_over(const struct child *c, int *ret_errno)
{
	siginfo_t info = {.si_pid = 0};

	*ret_errno = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno : 0;
	return info.si_pid == c->pid &&
	       (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

bool child_is_over(const struct child *c)
{
	int error;

	return is_over(c, &error);
}

bool child_ended(const struct child *c, int *ret_status)
{
	int status = 127 << 8, error; /* if somebody else has waited for it, the status stays 127 */

	if (!is_over(c, &error) && error != ECHILD)
		return false;
	waitpid(c->pid, &status, WNOHANG);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
