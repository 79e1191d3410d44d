#include "sampler/session/children_cpu.h"

#include <stdlib.h>

#include "sampler/session/session_private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

/* Includes the time that it takes to find them; a summary is not worth more. */
#define COUNT_NS UINT64_C(700000000)

static bool is_among(pid_t pid, const pid_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

bool session_is_separate(const struct session *s, pid_t pid)
{
	return is_among(pid, s->o.apart, s->o.n_apart);
}

static uint64_t used_by(struct proc *p)
{
	uint64_t own = 0, waited = 0;

	if (proc_cpu_ns(p, &own) < 0)
		own = 0;
	if (proc_waited_cpu_ns(p, &waited) < 0)
		waited = 0;
	return own + waited;
}

static uint64_t used_by_pid(pid_t pid)
{
	struct proc *p;
	uint64_t ns;

	if (proc_open(pid, &p, NULL) < 0)
		return 0;
	ns = used_by(p);
	proc_close(p);
	return ns;
}

uint64_t children_cpu_ns(const struct session *owner, struct session *const *open, size_t n)
{
	uint64_t sum = 0;
	pid_t *pids = NULL;
	size_t n_pids = 0;
	uint64_t until = clock_monotonic_ns() + COUNT_NS;

	if (proc_waited_cpu_ns(owner->proc, &sum) < 0)
		sum = 0;
	if (proc_descendants(owner->proc, &pids, &n_pids) < 0)
		n_pids = 0;
	for (size_t i = 0; i < n_pids && clock_monotonic_ns() < until; i++)
		if (!session_is_separate(owner, pids[i]))
			sum += used_by_pid(pids[i]);
	for (size_t i = 0; i < n; i++)
		if (proc_alive(open[i]->proc) && !is_among(open[i]->pid, pids, n_pids))
			sum += used_by(open[i]->proc);
	free(pids);
	return sum;
}
