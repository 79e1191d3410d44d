#include "sampler/daemon/host/stuck.h"

#include "symbolizer/target/proc.h"

/* Stuck: no CPU time for IDLE_NS, or busy for BUSY_NS, which no piece of work takes (readers.h). */
#define IDLE_NS UINT64_C(20000000000)
#define BUSY_NS UINT64_C(120000000000)
#define LOOK_NS UINT64_C(1000000000) /* of a process that gets on with its work, how often its CPU time is read */

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
static uint64_t waited(const struct stuck *s, const struct stuck_seen *now)
{
	uint64_t elapsed = now->now_ns - s->looked_ns, ran = now->cpu_ns - s->cpu_ns;

	return now->runnable && ran < elapsed ? elapsed - ran : 0;
}

static uint64_t later(uint64_t at_ns, uint64_t wait_ns, uint64_t now_ns)
{
	return wait_ns < now_ns - at_ns ? at_ns + wait_ns : now_ns;
}

static bool gets_on(struct stuck *s, bool at_work, uint64_t done, uint64_t now_ns)
{
	if (done == s->done && at_work)
		return false;
	s->done = done;
	s->since_ns = s->idle_ns = now_ns;
	return true;
}

bool stuck_judge(struct stuck *s, bool at_work, uint64_t done, const struct stuck_seen *now)
{
	uint64_t wait = waited(s, now);

	if (!gets_on(s, at_work, done, now->now_ns)) {
		s->since_ns = later(s->since_ns, wait, now->now_ns);
		s->idle_ns = now->cpu_ns != s->cpu_ns ? now->now_ns : later(s->idle_ns, wait, now->now_ns);
	}
	s->cpu_ns = now->cpu_ns;
	s->looked_ns = now->now_ns;
	return now->now_ns - s->idle_ns >= IDLE_NS || now->now_ns - s->since_ns >= BUSY_NS;
}

bool stuck_look(struct stuck *s, pid_t pid, bool at_work, uint64_t done, uint64_t now_ns)
{
	struct stuck_seen now = {.now_ns = now_ns};

	if ((!at_work || now_ns - s->looked_ns < LOOK_NS) && gets_on(s, at_work, done, now_ns))
		return false;
	look(pid, &now.cpu_ns, &now.runnable);
	return stuck_judge(s, at_work, done, &now);
}
