#include "sampler/engine/perf/perf_pause.h"

#include "symbolizer/base/random.h"

enum { MS_NS = 1000000 };
#define STEP_NS UINT64_C(20000000) /* a wait that long leaves any period's step */

struct timespec perf_pause(uint64_t *random, uint32_t most_ms)
{
	uint32_t half_ns = most_ms * (MS_NS / 2);

	return (struct timespec){.tv_nsec = half_ns + random_below(random, half_ns + MS_NS)};
}

void perf_pause_leave_step(uint64_t *random, uint64_t period_ns)
{
	uint32_t step_ns = (uint32_t)(period_ns < STEP_NS ? period_ns : STEP_NS);
	struct timespec pause = {.tv_nsec = random_below(random, step_ns)};

	nanosleep(&pause, NULL);
}
