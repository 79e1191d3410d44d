#include "sampler/daemon/host/stuck.h"

#include "symbolizer/target/proc.h"

/* Stuck: no CPU time for IDLE_NS, or busy for BUSY_NS, which no piece of work takes (readers.h). */
#define IDLE_NS UINT64_C(20000000000)
#define BUSY_NS UINT64_C(120000000000)

void stuck_begin(struct stuck *s, uint64_t now_ns)
{
	*s = (struct stuck){.since_ns = now_ns, .idle_ns = now_ns};
}

static uint64_t cpu_of_main_thread(pid_t pid)
{
	struct proc *p;
	uint64_t ns = 0;

	if (proc_open(pid, &p, NULL) < 0)
		return 0;
	if (proc_thread_cpu_ns(p, pid, &ns) < 0)
		ns = 0;
	proc_close(p);
	return ns;
}

bool stuck_look(struct stuck *s, pid_t pid, bool at_work, uint64_t done, uint64_t now_ns)
{
	uint64_t cpu;

	if (done != s->done || !at_work) {
		s->done = done;
		s->since_ns = s->idle_ns = now_ns;
		return false;
	}
	cpu = cpu_of_main_thread(pid);
	if (cpu != s->cpu_ns)
		s->idle_ns = now_ns;
	s->cpu_ns = cpu;
	return now_ns - s->idle_ns >= IDLE_NS || now_ns - s->since_ns >= BUSY_NS;
}
