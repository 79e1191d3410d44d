#include "sampler/broker/patience.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc_stat.h"

enum { SLICE_MS = 50, BUSY_MS = 10000 };

static bool sleeps(int stat)
{
	char text[512];
	ssize_t n = pread(stat, text, sizeof(text) - 1, 0);
	struct proc_stat s;

	text[n > 0 ? n : 0] = '\0';
	return proc_stat_parse(text, &s) < 0 || s.state == 'D' || s.state == 'S';
}

bool patience_wait(int socket, int stat, int ms, const atomic_bool *hurried)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	uint64_t start_ns = clock_monotonic_ns();
	int slept_ms = 0;

	for (;;) {
		int n = poll(&p, 1, SLICE_MS), most = atomic_load(hurried) ? PATIENCE_HURRY_MS : BUSY_MS;

		if (n > 0 || (n < 0 && errno != EINTR))
			return true; /* receiving says what is wrong */
		slept_ms += sleeps(stat) ? SLICE_MS : 0;
		if (slept_ms >= ms || (clock_monotonic_ns() - start_ns) / 1000000 >= (uint64_t)most)
			return false;
	}
}
