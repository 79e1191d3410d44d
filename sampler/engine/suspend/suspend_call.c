#include "sampler/engine/suspend/suspend_call.h"

#include <stddef.h>
#include <sys/syscall.h>

enum { NO_TIMEOUT = -1, ELSEWHERE = -2, EPOLL_TIMEOUT = 3 };

/*
 * EINTR from these means that nothing happened yet. close(2) is not among them: it says EINTR when
 * the descriptor is gone.
 */
static const struct {
	int16_t nr;
	int8_t timeout; /* argument, NO_TIMEOUT, or ELSEWHERE: in memory or in the socket's options */
} calls[] = {
	{SYS_epoll_wait, EPOLL_TIMEOUT}, {SYS_epoll_pwait, EPOLL_TIMEOUT},
	{SYS_epoll_pwait2, ELSEWHERE},	 {SYS_rt_sigtimedwait, ELSEWHERE},
	{SYS_semtimedop, ELSEWHERE},	 {SYS_semop, NO_TIMEOUT},
	{SYS_read, ELSEWHERE},		 {SYS_readv, ELSEWHERE},
	{SYS_write, ELSEWHERE},		 {SYS_writev, ELSEWHERE},
	{SYS_recvfrom, ELSEWHERE},	 {SYS_recvmsg, ELSEWHERE},
	{SYS_sendto, ELSEWHERE},	 {SYS_sendmsg, ELSEWHERE},
	{SYS_recvmmsg, ELSEWHERE},	 {SYS_sendmmsg, ELSEWHERE},
	{SYS_accept, ELSEWHERE},	 {SYS_accept4, ELSEWHERE},
	{SYS_connect, ELSEWHERE},	 {SYS_io_getevents, ELSEWHERE},
	{SYS_io_pgetevents, ELSEWHERE},	 {SYS_msgrcv, NO_TIMEOUT},
	{SYS_msgsnd, NO_TIMEOUT},	 {SYS_io_uring_enter, ELSEWHERE},
};

static const uint8_t args[] = {X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};

/* `ms`: an int, negative for ever, 0 not at all. */
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
			uint64_t value = r->r[args[calls[i].timeout]];

			c.timeout = value;
			shorten(&c, value, waited_ns);
			c.timeout_arg = c.timeout != value ? calls[i].timeout : -1;
		}
	}
	return c;
}

/* Those of sockets may have a timeout that begins anew (SO_RCVTIMEO). */
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
	case SYS_restart_syscall:
		return true;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)(uint32_t)r->r[args[EPOLL_TIMEOUT]] < 0;
	case SYS_read:
	case SYS_readv:
		*ret_fd = (int)(uint32_t)r->r[args[0]];
		return *ret_fd >= 0;
	default:
		return false;
	}
}

bool suspend_call_sleeps(int64_t nr)
{
	return nr == SYS_nanosleep || nr == SYS_clock_nanosleep;
}
