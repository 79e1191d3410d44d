#include "sampler/engine/perf/perf_step.h"

uint64_t perf_step_weight(struct perf_steps *s, uint64_t time_ns, uint64_t period_ns)
{
	/* Was there a sample one period ago? If it was of another process, no reader ran. */
	bool next = s->hit_ns && time_ns > s->hit_ns && time_ns - s->hit_ns < period_ns + period_ns / 2;
	uint64_t own = next ? s->own_ns : 0;

	s->hit_ns = time_ns;
	s->own_ns = 0;
	s->open = true;
	return period_ns - (own < period_ns / 2 ? own : period_ns / 2);
}

void perf_step_add(struct perf_steps *s, uint64_t used_ns)
{
	s->own_ns += used_ns;
}

void perf_step_end(struct perf_steps *s, uint64_t reader_cpu_ns)
{
	if (s->open && s->reader_ns && reader_cpu_ns > s->reader_ns)
		s->own_ns += reader_cpu_ns - s->reader_ns;
	s->open = false;
	s->reader_ns = reader_cpu_ns;
}
