#include "symbolizer/base/clock.h"

bool clock_read_ns(clockid_t clock, uint64_t *ret)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		return false;
	*ret = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return true;
}

struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static uint64_t now_ns(clockid_t id)
{
	uint64_t ns;

	return clock_read_ns(id, &ns) ? ns : 0;
}

uint64_t clock_monotonic_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_process_cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

bool clock_cpu_of_ns(pid_t pid, uint64_t *ret)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) == 0 && clock_read_ns(clock, ret);
}
