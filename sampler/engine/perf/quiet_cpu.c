#include "sampler/engine/perf/quiet_cpu.h"

#include <errno.h>

enum {
	ROUNDS_MIN = 16, /* between moves: a target that hops about is not run after */
	CPUS_MAX = 1 << 16,
};

static bool find_allowed(struct quiet_cpu *q)
{
	/* The kernel's own mask may be larger than the CPUs there are: EINVAL until it fits. */
	for (int n = 1024; !q->allowed && n <= CPUS_MAX; n *= 2) {
		cpu_set_t *set = CPU_ALLOC(n);

		if (!set)
			return false;
		q->size = CPU_ALLOC_SIZE(n);
		if (sched_getaffinity(0, q->size, set) == 0)
			q->allowed = set;
		else
			CPU_FREE(set);
		if (!q->allowed && errno != EINVAL)
			return false;
	}
	return q->allowed != NULL;
}

/* There, and free to be moved on from there. That it cannot be is no matter. */
static void move_to(struct quiet_cpu *q, int cpu)
{
	cpu_set_t *set;

	if (!find_allowed(q) || !CPU_ISSET_S(cpu, q->size, q->allowed))
		return;
	set = CPU_ALLOC((int)(q->size * 8));
	if (!set)
		return;
	CPU_ZERO_S(q->size, set);
	CPU_SET_S(cpu, q->size, set);
	if (sched_setaffinity(0, q->size, set) == 0)
		(void)!sched_setaffinity(0, q->size, q->allowed);
	CPU_FREE(set);
}

void quiet_cpu_begin(struct quiet_cpu *q)
{
	q->here = sched_getcpu();
	q->empty = -1;
	q->in_the_way = false;
	if (q->rounds < UINT32_MAX)
		q->rounds++;
}

void quiet_cpu_note(struct quiet_cpu *q, int cpu, uint64_t used)
{
	if (cpu == q->here)
		q->in_the_way = used > 0;
	else if (!used)
		q->empty = cpu;
}

void quiet_cpu_end(struct quiet_cpu *q)
{
	if (!q->in_the_way || q->empty < 0 || q->rounds < ROUNDS_MIN)
		return;
	q->rounds = 0;
	move_to(q, q->empty);
}

void quiet_cpu_done(struct quiet_cpu *q)
{
	if (q->allowed)
		CPU_FREE(q->allowed);
	q->allowed = NULL;
}
