#include "jvm-bridge/host/stacks/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

/* As in linux/fcntl.h: some C libraries have these only with _GNU_SOURCE, others not at all. */
#ifndef F_SETOWN_EX
#define F_SETOWN_EX 15
#endif

struct owner {
	int kind; /* 0: a thread */
	int tid;
};

static void (*taken_by)(int fd, const void *ucontext);
static _Atomic unsigned n_clocks;

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	int kept = errno;

	(void)sig;
	if (info->si_code == POLL_IN)
		taken_by(info->si_fd, ucontext);
	errno = kept;
}

int clock_signal_take(void (*handler)(int fd, const void *ucontext))
{
	struct sigaction now, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	if (sigaction(SIGURG, NULL, &now))
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))
		return clock_signal_is_ours() ? 0 : -EBUSY;
	taken_by = handler;
	return sigaction(SIGURG, &ours, NULL) ? -errno : 0;
}

bool clock_signal_is_ours(void)
{
	struct sigaction now;

	return !sigaction(SIGURG, NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal;
}

/* The program needs descriptors itself: use at most an eighth of what it may open. */
static bool is_room(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && atomic_load(&n_clocks) < limit.rlim_cur / 8;
}

static int owner_set(int fd, uint32_t tid)
{
	struct owner owner = {0, (int)tid};

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETFL, O_ASYNC))
		return -errno;
	return 0;
}

int clock_make(struct clock *c, uint32_t tid, uint64_t period)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = period,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd, r;

	if (!is_room())
		return -EMFILE;
	fd = (int)syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	*c = (struct clock){fd, 0, tid, period};
	r = ioctl(fd, PERF_EVENT_IOC_ID, &c->id) ? -errno : owner_set(fd, tid);
	if (r) {
		close(fd);
		c->fd = -1;
		return r;
	}
	atomic_fetch_add(&n_clocks, 1);
	return 0;
}

/* The program may have closed it, and have opened something else by now. */
static bool is_ours(const struct clock *c)
{
	uint64_t id = 0;

	return c->fd >= 0 && !ioctl(c->fd, PERF_EVENT_IOC_ID, &id) && id == c->id;
}

void clock_run(struct clock *c)
{
	if (is_ours(c))
		ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void clock_period(struct clock *c, uint64_t period)
{
	if (is_ours(c) && !ioctl(c->fd, PERF_EVENT_IOC_PERIOD, &period))
		c->period = period;
}

void clock_stop(struct clock *c)
{
	if (c->fd < 0)
		return;
	if (is_ours(c))
		close(c->fd);
	c->fd = -1;
	atomic_fetch_sub(&n_clocks, 1);
}
