#include "sampler/daemon/host/stuck.h"

#include "symbolizer/target/proc.h"

/* Stuck: no CPU time for IDLE_NS, or busy for BUSY_NS, which no piece of work takes (readers.h). */
#define IDLE_NS UINT64_C(20000000000)
#define BUSY_NS UINT64_C(120000000000)

void stuck_begin(struct stuck *s, uint64_t now_ns)
{
	*s = (struct stuck){.since_ns = now_ns, .idle_ns = now_ns, .looked_ns = now_ns};
}

/* Of the main thread. */
static void look(pid_t pid, uint64_t *ret_cpu_ns, bool *ret_runnable)
{
	struct proc *p;
	char state;

	*ret_cpu_ns = 0;
	*ret_runnable = false;
	if (proc_open(pid, &p, NULL) < 0)
		return;
	if (proc_thread_cpu_ns(p, pid, ret_cpu_ns) < 0)
		*ret_cpu_ns = 0;
	*ret_runnable = proc_state(p, &state) == 0 && state == 'R';
	proc_close(p);
}

/* How long it has waited for a CPU since the last look: if it is runnable now, all of the time that it did not run. */
static uint64_t waited(const struct stuck *s, uint64_t cpu_ns, bool runnable, uint64_t now_ns)
{
	uint64_t elapsed = now_ns - s->looked_ns, ran = cpu_ns - s->cpu_ns;

	return runnable && ran < elapsed ? elapsed - ran : 0;
}

bool stuck_look(struct stuck *s, pid_t pid, bool at_work, uint64_t done, uint64_t now_ns)
{
	uint64_t cpu, wait;
	bool runnable;

	if (done != s->done || !at_work) {
		s->done = done;
		s->since_ns = s->idle_ns = s->looked_ns = now_ns;
		return false;
	}
	look(pid, &cpu, &runnable);
	wait = waited(s, cpu, runnable, now_ns);
	s->since_ns += wait;
	s->idle_ns = cpu != s->cpu_ns ? now_ns : s->idle_ns + wait;
	s->cpu_ns = cpu;
	s->looked_ns = now_ns;
	return now_ns - s->idle_ns >= IDLE_NS || now_ns - s->since_ns >= BUSY_NS;
}
