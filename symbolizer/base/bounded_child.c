#include "symbolizer/base/bounded_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/base/data_limit.h"
#include "symbolizer/base/log.h"

enum {
	GRACE_MS = 200, /* for a child that is ending by itself, until it gets SIGKILL */
	END_MS = 1000, /* the kernel has to free its memory */
	TICK_MS = 5, /* the first polls are 1 ms apart: most children end at once */
};

static int null_fd = -1;

void bounded_child_prepare(void)
{
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	data_limit_prepare();
}

/* --- the child --- */

/* A child that is left behind must not keep a pipe open whose reader waits for end of file. */
static void leave_stdio(void)
{
	int null = null_fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : null_fd;

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

/* PR_SET_PDEATHSIG fires when the thread that forked ends, even if the process goes on: prctl(2). */
static void die_with_parent(pid_t parent, bool main_thread)
{
	if (main_thread)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static void limit(const struct bounded_limits *l)
{
	struct rlimit none = {0, 0}, cpu;

	setrlimit(RLIMIT_CORE, &none); /* exceeding a limit may raise a signal that dumps core */
	if (l->cpu_ns != UINT64_MAX) {
		cpu.rlim_cur = l->cpu_ns / 1000000000 + 2;
		cpu.rlim_max = cpu.rlim_cur + 1; /* with equal limits the signal would be SIGKILL, not SIGXCPU */
		setrlimit(RLIMIT_CPU, &cpu);
	}
	if (l->bytes != UINT64_MAX)
		data_limit(l->bytes);
}

/* --- the parent --- */

int bounded_child_start(struct bounded_child *c, const struct bounded_limits *l, bounded_main *run, void *ctx)
{
	pid_t parent = getpid();
	bool main_thread = gettid() == parent;
	int pair[2], r;

	*c = (struct bounded_child){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	c->pid = fork();
	if (c->pid == 0) {
		close(pair[0]);
		die_with_parent(parent, main_thread);
		leave_stdio();
		limit(l);
		run(ctx, pair[1]);
		shutdown(pair[1], SHUT_RDWR); /* processes started by the child may have a copy */
		_exit(0);
	}
	r = -errno;
	close(pair[1]);
	c->fd = pair[0];
	if (c->pid > 0)
		return 0;
	c->pid = 0;
	close(c->fd);
	c->fd = -1;
	return r;
}

/* The child has closed its end of the socket: it is done, or dying. */
static bool is_ending(const struct bounded_child *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP);
}

bool bounded_child_end(struct bounded_child *c, int *ret_status)
{
	int status = 0, kill_at = is_ending(c) ? GRACE_MS : 0;
	pid_t done = -1;

	if (c->pid) {
		close(c->fd);
		for (int ms = 0, tick; (done = waitpid(c->pid, &status, WNOHANG)) == 0 && ms < END_MS; ms += tick) {
			if (ms >= kill_at)
				kill(c->pid, SIGKILL);
			tick = ms < TICK_MS ? 1 : TICK_MS;
			poll(NULL, 0, tick);
		}
		if (done == 0)
			log_warn("left process %d behind: this child reads data of the target and cannot be ended (it "
				 "may be waiting "
				 "for memory or a file)",
				 (int)c->pid);
	}
	*c = (struct bounded_child){.fd = -1};
	if (ret_status)
		*ret_status = status;
	return done != 0;
}
