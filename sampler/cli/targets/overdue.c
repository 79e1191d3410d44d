#include "sampler/cli/targets/overdue.h"

#include <limits.h>

#include "symbolizer/base/clock.h"

enum { LOOK_MS = 500 };
#define PATIENCE_NS UINT64_C(8000000000)
/* CPU time: even on the busiest machine, a working program gets more in PATIENCE_NS. */
#define WORKS_NS UINT64_C(20000000)

void overdue_expect(struct overdue *s, uint64_t end_ns)
{
	if (!s->end_ns || end_ns < s->end_ns)
		s->end_ns = end_ns;
}

int overdue_pause_ms(const struct overdue *s, int otherwise)
{
	uint64_t now = clock_monotonic_ns(), ms = LOOK_MS;

	if (!s->end_ns)
		return otherwise;
	if (now < s->end_ns)
		ms = (s->end_ns - now) / 1000000 + 1;
	if (ms > INT_MAX)
		ms = INT_MAX;
	return otherwise < 0 || (int)ms < otherwise ? (int)ms : otherwise;
}

bool overdue_check(struct overdue *s, uint64_t now_ns, uint64_t cpu_ns)
{
	if (!s->end_ns || now_ns < s->end_ns)
		return false;
	if (!s->since_ns || cpu_ns - s->cpu_ns > WORKS_NS) {
		s->since_ns = now_ns;
		s->cpu_ns = cpu_ns;
	}
	return now_ns - s->since_ns >= PATIENCE_NS;
}
