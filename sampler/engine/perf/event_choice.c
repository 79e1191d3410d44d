#include "sampler/engine/perf/event_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "symbolizer/target/proc.h"

enum {
	EVENTS_MAX = 256, /* limit of threads x CPUs for changing to threads; twice that for staying there */
	SWITCHES_MAX = 2000, /* limit per second of CPU time (0.15 % of it) for the change; twice that for staying */
};
#define RUN_MIN_NS UINT64_C(20000000) /* less CPU time proves nothing */
#define LOOK_NS UINT64_C(3000000000)

static bool is_better(const struct event_choice *c, const struct event_load *l, uint64_t run_ns, uint64_t switches)
{
	uint64_t scale = c->by_thread ? 2 : 1;

	return switches <= UINT64_MAX / 1000000000 && switches * 1000000000 / run_ns <= SWITCHES_MAX * scale &&
	       (uint64_t)l->threads * l->cpus <= EVENTS_MAX * scale;
}

void event_choice_note(struct event_choice *c, const struct event_load *l)
{
	uint64_t run = l->run_ns - c->run_ns, switches = l->switches - c->switches;

	if (c->refused)
		return;
	/* The sums no longer include threads that have ended since then. */
	if (l->run_ns < c->run_ns || l->switches < c->switches) {
		c->run_ns = l->run_ns;
		c->switches = l->switches;
		return;
	}
	if (run < RUN_MIN_NS)
		return;
	c->by_thread = is_better(c, l, run, switches);
	c->run_ns = l->run_ns;
	c->switches = l->switches;
}

/* /proc/PID/schedstat, see proc(5): time on a CPU, time waiting for one, how often it got one. */
static void add_thread(struct event_load *l, struct proc *proc, pid_t tid)
{
	uint64_t run, waited, switches;
	char text[128];
	ssize_t n;
	int fd = proc_file(proc, tid, "schedstat");

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &run, &waited, &switches) != 3)
		return;
	l->run_ns += run;
	l->switches += switches;
}

bool event_choice_poll(struct event_choice *c, struct proc *proc, size_t cpus, uint64_t now_ns)
{
	struct event_load l = {.cpus = cpus};
	pid_t *tids;

	if (c->refused || now_ns < c->next_ns)
		return c->by_thread;
	c->next_ns = now_ns + LOOK_NS;
	if (proc_tasks(proc, &tids, &l.threads) < 0)
		return c->by_thread;
	if (l.threads * cpus > EVENTS_MAX * 2)
		c->by_thread = false;
	else
		for (size_t i = 0; i < l.threads; i++)
			add_thread(&l, proc, tids[i]);
	free(tids);
	event_choice_note(c, &l);
	return c->by_thread;
}
