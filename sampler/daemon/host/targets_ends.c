/*
 * One epoll(7) object for the pidfds of all targets says which have ended, so that targets that live cost nothing: with
 * hundreds of them, a system call for each in each turn was most of what an idle daemon did.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/daemon/host/target.h"
#include "sampler/rights/descriptors.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

enum { ENDS_AT_ONCE = 32 };

int targets_open_ends(struct targets *t, struct err *err)
{
	t->ends = epoll_create1(EPOLL_CLOEXEC);
	return t->ends < 0 ? err_set(err, -errno, "epoll_create1: %m") : 0;
}

void targets_close_ends(struct targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		targets_forget_end(t, &t->list[i]);
	close_at_exit(&t->ends);
}

/*
 * Its end is reported once, since a target may stay for a while: until its last worker has ended. Without descriptors to
 * spare it gets none, as otherwise no process could be looked at any more, or restarted.
 */
static int watch(const struct targets *t, const struct target *one)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = one->slot};
	CLEANUP(close_at_exit) int fd = (int)syscall(SYS_pidfd_open, one->who.pid, 0);

	if (fd < 0 || descriptors_check(NULL) < 0 || epoll_ctl(t->ends, EPOLL_CTL_ADD, fd, &e) < 0)
		return -1;
	return take_fd(&fd);
}

/* If the process that was found is there after its pidfd was opened, that refers to it. */
void targets_watch_end(struct targets *t, struct target *one)
{
	one->pidfd = watch(t, one);
	one->ended = !proc_is_there(one->who.pid, one->who.start_ticks);
}

/* Closing is not enough while a child process has a copy of it. */
void targets_forget_end(const struct targets *t, struct target *one)
{
	if (one->pidfd < 0)
		return;
	epoll_ctl(t->ends, EPOLL_CTL_DEL, one->pidfd, NULL);
	close(take_fd(&one->pidfd));
}

static void note_end(struct targets *t, uint64_t slot)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].slot == slot)
			t->list[i].ended = true;
}

void targets_take_ends(struct targets *t)
{
	struct epoll_event e[ENDS_AT_ONCE];
	int n;

	do {
		n = epoll_wait(t->ends, e, ENDS_AT_ONCE, 0);
		for (int i = 0; i < n; i++)
			note_end(t, e[i].data.u64);
	} while (n == ENDS_AT_ONCE);
}

bool targets_has_ended(const struct target *one)
{
	return one->ended || (one->pidfd < 0 && !proc_is_there(one->who.pid, one->who.start_ticks));
}
