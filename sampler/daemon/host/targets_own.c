/* Processes that sample one target only: its CPU time, or its waiting threads, too (wall = yes). */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/host/child.h"
#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/target.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/user_name.h"

static pid_t fork_worker(const struct targets *t, const struct target *one, bool wall, int feed)
{
	char user[64], name[16];
	const struct watch_options o = {
		.pid = one->who.pid,
		.start_ticks = one->who.start_ticks,
		.feed = feed,
		.how = wall ? (struct watch_how){.hz = one->how.hz, .wall = 1} : one->how,
		.rules = t->rules,
		.boot_id = t->boot_id,
		.host = t->host,
		.user = user,
	};

	user_name(one->who.uid, user, sizeof(user));
	snprintf(name, sizeof(name), "%s %d", wall ? "wall" : "worker", (int)one->who.pid);
	return own_worker_fork(t->own, (wall ? OWN_WALL : 0) + one->slot, o, name);
}

/*
 * The keeper gets its end of the feed first: what the worker sends would be lost otherwise. Returns 0 if the worker is
 * not started.
 */
static pid_t start(const struct targets *t, const struct target *one, bool wall, uint64_t *again_ns,
		   struct restart *restart)
{
	const char *what = wall ? " (wall = yes)" : "";
	uint64_t now = clock_monotonic_ns();
	pid_t child = 0;
	int feed[2];

	if (!own_workers_room(t->own)) {
		*again_ns = now + TARGETS_FAILED_NS;
		log_warn("PID %d%s is not sampled for now: the JVMs that have a process of their own take as much "
			 "memory as they may",
			 (int)one->who.pid, what);
		return 0;
	}
	*again_ns = now + RESTART_MAX_NS;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, feed) < 0) {
		log_warn("PID %d%s is not sampled: no socket: %m", (int)one->who.pid, what);
		return 0;
	}
	if (t->feed(t->ctx, feed[0]) == 0) {
		child = fork_worker(t, one, wall, feed[1]);
		if (child < 0)
			log_warn("PID %d%s is not sampled: fork: %m", (int)one->who.pid, what);
		restart_began(restart, now);
	}
	close(feed[0]);
	close(feed[1]);
	return child > 0 ? child : 0;
}

void targets_start_own(struct targets *t, struct target *one)
{
	one->worker = start(t, one, false, &one->again_ns, &one->restart);
}

/* What a worker wants, which a target may have taken over, is done only if some rule says so. */
void targets_turn_wall(struct targets *t, struct target *one, uint64_t now)
{
	if (one->waller && one->left_out)
		kill(one->waller, SIGTERM);
	if (one->worker && own_worker_wanted(t->own, one->slot)->wall)
		one->wall = rules_wall(t->rules);
	if (one->wall && !one->waller && !one->replaced && !one->left_out && (one->worker || one->joined) &&
	    now >= one->wall_again_ns)
		one->waller = start(t, one, true, &one->wall_again_ns, &one->wall_restart);
}

static uint64_t wall_delay(const struct targets *t, struct target *one, int status, uint64_t now)
{
	uint64_t delay = restart_delay(&one->wall_restart, now);
	char what[64];

	switch (WIFEXITED(status) ? WEXITSTATUS(status) : -1) {
	case WATCH_ENDED:
	case WATCH_EXEC: /* the other process says so, too */
	case WATCH_NO_KEEPER: return delay;
	case WATCH_LEFT_OUT:
		one->wall = false;
		own_worker_wanted(t->own, one->slot)->wall = 0;
		return delay;
	case WATCH_FAILED: return TARGETS_FAILED_NS;
	default:
		snprintf(what, sizeof(what), "the process that samples waiting threads of PID %d", (int)one->who.pid);
		child_say_ended(what, status, delay);
		return delay;
	}
}

bool targets_wall_ended(struct targets *t, pid_t child, int status)
{
	uint64_t now = clock_monotonic_ns();
	size_t i = 0;

	while (i < t->n && t->list[i].waller != child)
		i++;
	if (i == t->n)
		return false;
	t->list[i].waller = 0;
	t->list[i].wall_again_ns = now + wall_delay(t, &t->list[i], status, now);
	own_worker_ended(t->own, OWN_WALL + t->list[i].slot);
	return true;
}
