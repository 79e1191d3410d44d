#include "sampler/engine/perf/quiet_cpu.h"

enum {
	ROUNDS_MIN = 16, /* between moves, so as not to chase a target that changes CPUs often */
};

/* Moves the thread there, then lets the scheduler move it again. Failure does no harm. */
static void move_to(struct quiet_cpu *q, int cpu)
{
	cpu_set_t set[CPU_LIST_SETS] = {0};

	if (!q->known)
		q->known = sched_getaffinity(0, sizeof(q->allowed), q->allowed) == 0;
	if (!CPU_ISSET_S(cpu, sizeof(q->allowed), q->allowed))
		return;
	CPU_SET_S(cpu, sizeof(set), set);
	if (sched_setaffinity(0, sizeof(set), set) == 0)
		(void)!sched_setaffinity(0, sizeof(q->allowed), q->allowed);
}

void quiet_cpu_begin(struct quiet_cpu *q)
{
	q->here = sched_getcpu();
	q->empty = -1;
	q->own_ring_used = false;
	if (q->rounds < UINT32_MAX)
		q->rounds++;
}

void quiet_cpu_note(struct quiet_cpu *q, int cpu, uint64_t used)
{
	if (cpu == q->here)
		q->own_ring_used = used > 0;
	else if (!used)
		q->empty = cpu;
}

void quiet_cpu_end(struct quiet_cpu *q)
{
	if (!q->own_ring_used || q->empty < 0 || q->rounds < ROUNDS_MIN)
		return;
	q->rounds = 0;
	move_to(q, q->empty);
}
