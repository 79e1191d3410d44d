#include "sampler/engine/perf/unfollowed.h"

#include <string.h>

#include "symbolizer/target/proc.h"

void unfollowed_add(struct unfollowed *l, pid_t pid)
{
	if (l->n == UNFOLLOWED_MAX)
		return;
	l->children[l->n++] = (struct unfollowed_child){.pid = pid};
	l->next_ns = 0;
}

static bool look(struct unfollowed_child *c)
{
	char comm[sizeof(c->comm)];
	struct proc *p;
	bool changed;

	if (proc_open(c->pid, &p, NULL) < 0)
		return false;
	changed = proc_comm(p, c->pid, comm, sizeof(comm)) == 0 && strcmp(comm, c->comm) != 0;
	if (changed)
		memcpy(c->comm, comm, sizeof(comm));
	proc_close(p);
	return changed;
}

void unfollowed_poll(struct unfollowed *l, uint64_t now_ns, void (*named)(void *ctx, const struct unfollowed_child *c),
		     void *ctx)
{
	if (!l->n || now_ns < l->next_ns)
		return;
	l->next_ns = now_ns + UNFOLLOWED_PAUSE_NS;
	for (size_t i = 0; i < l->n; i++)
		if (look(&l->children[i]))
			named(ctx, &l->children[i]);
}
