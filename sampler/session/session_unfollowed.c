#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/session/session_private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

#define NAME_NS UINT64_C(700000000) /* finding and naming them takes at most this long */

/* While sampling, cpu_ns is what children that were waited for had used at the start. */
void session_unfollowed_begin(struct session *s)
{
	proc_waited_cpu_ns(s->proc, &s->alone.cpu_ns);
}

enum { NAMED = sizeof(((struct session *)NULL)->unfollowed_named) / sizeof(struct named_child) };

/* The last name counts: before execve() a process has the name of the target. */
void session_unfollowed_note(struct session *s, pid_t pid, const char *comm)
{
	for (size_t i = 0; i < NAMED; i++) {
		struct named_child *c = &s->unfollowed_named[i];

		if (c->pid && c->pid != pid)
			continue;
		c->pid = pid;
		snprintf(c->comm, sizeof(c->comm), "%s", comm);
		return;
	}
}

static bool is_named_before(const struct session *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s->unfollowed_named[i].comm, s->unfollowed_named[n].comm) == 0)
			return true;
	return false;
}

static void say_names(struct session *s)
{
	char *names = s->alone.names;
	size_t len = 0;

	for (size_t i = 0; i < NAMED && s->unfollowed_named[i].pid && len < sizeof(s->alone.names); i++)
		if (!is_named_before(s, i))
			len += (size_t)snprintf(names + len, sizeof(s->alone.names) - len, "%s%s", len ? ", " : "",
						s->unfollowed_named[i].comm);
}

/*
 * Also counts children that ran before sampling began. Only done when there are no samples, which
 * needs explaining.
 */
static void name_unfollowed(struct session *s)
{
	uint64_t until = clock_monotonic_ns() + NAME_NS;
	pid_t *pids;
	size_t n;

	if (proc_descendants(s->proc, &pids, &n) < 0)
		return;
	for (size_t i = 0; i < n && clock_monotonic_ns() < until; i++) {
		struct proc *p;
		char comm[16];

		if (proc_open(pids[i], &p, NULL) < 0)
			continue;
		s->alone.processes += s->alone.processes < n;
		if (proc_comm(p, pids[i], comm, sizeof(comm)) == 0)
			session_unfollowed_note(s, pids[i], comm);
		proc_close(p);
	}
	free(pids);
}

void session_unfollowed_end(struct session *s)
{
	uint64_t before = s->alone.cpu_ns, now;

	s->alone.cpu_ns = proc_waited_cpu_ns(s->proc, &now) == 0 && now > before ? now - before : 0;
	if (!session_live_samples(s))
		name_unfollowed(s);
	say_names(s);
}
