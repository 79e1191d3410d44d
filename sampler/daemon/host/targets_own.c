/* Processes that sample one target only: its CPU time, or its waiting threads, too (wall = yes). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "sampler/daemon/config/config_keys.h"
#include "sampler/daemon/host/child.h"
#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/target.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

#define FAILED_NS UINT64_C(60000000000) /* until sampling is tried again that could not begin */
#define END_NS UINT64_C(10000000000) /* for a process that was told to end, to send its last step */

/* What is done to the targets' processes for CPU time and to those for waiting threads. */
struct child_of {
	struct target *one;
	struct own_child *c;
	struct quarantine *quarantine;
	size_t slot;
	bool wall;
};

static struct child_of child_of(const struct targets *t, struct target *one, bool wall)
{
	return wall ? (struct child_of){one, &one->wall, t->wall_quarantine, OWN_WALL + one->slot, true} :
		      (struct child_of){one, &one->cpu, t->quarantine, one->slot, false};
}

/* --- starting --- */

static void start(struct targets *t, const struct child_of *k)
{
	const struct target *one = k->one;
	const struct own_worker_start s = {
		.slot = k->slot,
		.kind = k->wall ? "wall" : "worker",
		.who = &one->who,
		.how = k->wall ? (struct watch_how){.hz = one->how.hz, .wall = 1} : one->how,
	};
	struct err err = {0};
	pid_t pid = own_worker_start(t, &s, &err);
	uint64_t now = clock_monotonic_ns();

	if (pid < 0 && pid != -EPIPE)
		log_warn("PID %d%s is not sampled for now: %s", (int)one->who.pid, k->wall ? " (wall = yes)" : "",
			 err.msg);
	k->c->pid = pid > 0 ? pid : 0;
	k->c->again_ns = now + (pid == -EBUSY ? FAILED_NS : RESTART_MAX_NS);
	k->c->kill_ns = 0;
	restart_began(&k->c->restart, now);
	stuck_begin(&k->c->stuck, now);
}

void targets_start_own(struct targets *t, struct target *one)
{
	const struct child_of k = child_of(t, one, false);

	start(t, &k);
}

void targets_turn_wall(struct targets *t, struct target *one, uint64_t now)
{
	const struct quarantine_who who = target_blamed(one);
	const struct child_of k = child_of(t, one, true);

	if (one->left_out)
		targets_end_own(&one->wall, now);
	/* What a worker wants, which a target may have taken over, is done only if some rule says so. */
	if (one->cpu.pid && !one->cpu.kill_ns && own_worker_page(t->own, one->slot)->wanted.wall)
		one->waits = rules_wall(t->rules);
	if (one->waits && !one->wall.pid && !one->replaced && !one->left_out && (one->cpu.pid || one->joined) &&
	    now >= one->wall.again_ns && !quarantine_left_ns(t->wall_quarantine, &who, now))
		start(t, &k);
}

/* --- ending --- */

void targets_end_own(struct own_child *c, uint64_t now)
{
	if (!c->pid || c->kill_ns)
		return;
	kill(c->pid, SIGTERM);
	c->kill_ns = now + END_NS;
}

/* One that waits for a file system that does not answer does not end even then. */
static void look(const struct targets *t, const struct child_of *k, uint64_t now)
{
	struct own_child *c = k->c;

	if (!c->pid)
		return;
	if (!c->kill_ns &&
	    stuck_look(&c->stuck, c->pid, true, atomic_load(&own_worker_page(t->own, k->slot)->turns), now))
		c->kill_ns = now;
	if (!c->kill_ns || now < c->kill_ns)
		return;
	log_warn("process %d, which samples PID %d, is stuck, and is killed", (int)c->pid, (int)k->one->who.pid);
	kill(c->pid, SIGKILL);
	c->kill_ns = UINT64_MAX;
}

void targets_tend(struct targets *t)
{
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < t->n; i++)
		for (int wall = 0; wall < 2; wall++) {
			const struct child_of k = child_of(t, &t->list[i], wall);

			look(t, &k, now);
		}
	own_workers_divide(t->own);
}

bool targets_take_how(const struct targets *t, struct target *one, uint32_t hz, bool suspend)
{
	const struct watch_how how = {.hz = hz ? hz : one->how.hz, .suspend = suspend && rules_suspend(t->rules)};

	if (how.hz < CONFIG_RULE_HZ_MIN || how.hz > CONFIG_HZ_MAX ||
	    (how.hz == one->how.hz && how.suspend == one->how.suspend))
		return false;
	one->how = how;
	return true;
}

static bool changes(const struct targets *t, struct target *one)
{
	const struct watch_how wanted = own_worker_page(t->own, one->slot)->wanted;

	return targets_take_how(t, one, wanted.hz, wanted.suspend);
}

static void leave_out(const struct targets *t, const struct child_of *k)
{
	if (k->wall)
		own_worker_page(t->own, k->one->slot)->wanted.wall = k->one->waits = false;
	else
		k->one->left_out = true;
}

/* It was not told to end, so the target may be to blame. */
static uint64_t blame(const struct child_of *k, int status, uint64_t now)
{
	const struct quarantine_who who = target_blamed(k->one);
	uint64_t out_ns = quarantine_blame(k->quarantine, &who, now), delay_ns = restart_delay(&k->c->restart, now);
	char what[64];

	if (out_ns > delay_ns)
		delay_ns = out_ns;
	snprintf(what, sizeof(what), "the process that samples %sPID %d", k->wall ? "waiting threads of " : "",
		 (int)k->one->who.pid);
	child_say_ended(what, status, delay_ns);
	return delay_ns;
}

/* Returns after which time it may be started again. */
static uint64_t ended(const struct targets *t, const struct child_of *k, int status, uint64_t now)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (k->c->kill_ns && (code == WATCH_LEFT_OUT || code == WATCH_AGAIN))
		code = WATCH_ENDED; /* by rules that may have changed */
	switch (code) {
	/* The target is gone, or another program now; it may become one all the time. */
	case WATCH_ENDED: return restart_delay(&k->c->restart, now);
	case WATCH_EXEC: k->one->replaced |= !k->wall; return restart_delay(&k->c->restart, now);
	case WATCH_NO_KEEPER: return RESTART_FIRST_NS;
	case WATCH_FAILED: return FAILED_NS;
	case WATCH_LEFT_OUT: leave_out(t, k); return 0;
	case WATCH_AGAIN: return changes(t, k->one) ? 0 : FAILED_NS;
	default: return blame(k, status, now);
	}
}

bool targets_own_ended(struct targets *t, pid_t child, int status, uint64_t now)
{
	for (size_t i = 0; i < t->n; i++)
		for (int wall = 0; wall < 2; wall++) {
			const struct child_of k = child_of(t, &t->list[i], wall);

			if (k.c->pid != child)
				continue;
			k.c->pid = 0;
			own_worker_ended(t->own, k.slot);
			k.c->again_ns = now + ended(t, &k, status, now);
			return true;
		}
	return false;
}
