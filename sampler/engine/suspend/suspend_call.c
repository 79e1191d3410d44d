#include "sampler/engine/suspend/suspend_call.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "symbolizer/target/arch.h"

enum { NO_TIMEOUT = -1, ELSEWHERE = -2, EPOLL_TIMEOUT = 3 };

/*
 * If one of these fails with EINTR, nothing has been done yet. close(2) is not among them: the descriptor is closed
 * even then.
 */
static const struct {
	int16_t nr;
	int8_t timeout; /* index of the argument, NO_TIMEOUT, or ELSEWHERE: in memory, or an option of the socket */
} calls[] = {
	{SYS_epoll_wait, EPOLL_TIMEOUT}, {SYS_epoll_pwait, EPOLL_TIMEOUT},
	{SYS_epoll_pwait2, ELSEWHERE},   {SYS_rt_sigtimedwait, ELSEWHERE},
	{SYS_semtimedop, ELSEWHERE},     {SYS_semop, NO_TIMEOUT},
	{SYS_read, ELSEWHERE},           {SYS_readv, ELSEWHERE},
	{SYS_write, ELSEWHERE},          {SYS_writev, ELSEWHERE},
	{SYS_recvfrom, ELSEWHERE},       {SYS_recvmsg, ELSEWHERE},
	{SYS_sendto, ELSEWHERE},         {SYS_sendmsg, ELSEWHERE},
	{SYS_recvmmsg, ELSEWHERE},       {SYS_sendmmsg, ELSEWHERE},
	{SYS_accept, ELSEWHERE},         {SYS_accept4, ELSEWHERE},
	{SYS_connect, ELSEWHERE},        {SYS_io_getevents, ELSEWHERE},
	{SYS_io_pgetevents, ELSEWHERE},  {SYS_msgrcv, NO_TIMEOUT},
	{SYS_msgsnd, NO_TIMEOUT},        {SYS_io_uring_enter, ELSEWHERE},
};

static uint64_t argument(const struct regs *r, int i)
{
	return r->r[arch_host()->call_args[i]];
}

/* `ms`: an int; negative: no timeout, 0: no wait. */
static void shorten(struct suspend_call *c, uint64_t ms, uint64_t waited_ns)
{
	int32_t left = (int32_t)(uint32_t)ms;
	uint64_t waited_ms = waited_ns / 1000000;

	if (left <= 0)
		return;
	c->timeout = waited_ms < (uint64_t)left ? (uint64_t)left - waited_ms : 0;
	c->longer = waited_ns % 1000000 != 0;
}

struct suspend_call suspend_call_again(int64_t nr, const struct regs *r, uint64_t waited_ns)
{
	struct suspend_call c = {.timeout_arg = -1};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].nr != nr)
			continue;
		c.again = true;
		c.longer = calls[i].timeout == ELSEWHERE;
		if (calls[i].timeout >= 0) {
			uint64_t value = argument(r, calls[i].timeout);

			c.timeout = value;
			shorten(&c, value, waited_ns);
			c.timeout_arg = c.timeout != value ? calls[i].timeout : -1;
		}
	}
	return c;
}

/* Calls on sockets may have a timeout that starts anew (SO_RCVTIMEO). */
bool suspend_call_unharmed(int64_t nr, const struct regs *r, int *ret_fd)
{
	*ret_fd = -1;
	switch (nr) {
	case SYS_futex:
	case SYS_poll:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_restart_syscall: return true;
	case SYS_epoll_wait:
	case SYS_epoll_pwait: return (int32_t)(uint32_t)argument(r, EPOLL_TIMEOUT) < 0;
	case SYS_read:
	case SYS_readv: *ret_fd = (int)(uint32_t)argument(r, 0); return *ret_fd >= 0;
	default: return false;
	}
}

bool suspend_call_sleeps(int64_t nr)
{
	return nr == SYS_nanosleep || nr == SYS_clock_nanosleep;
}
