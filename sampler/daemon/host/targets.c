#include "sampler/daemon/host/targets.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/daemon/governor/governor.h"
#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/target.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/supervise/quarantine.h"
#include "sampler/daemon/watch/watch.h"
#include "sampler/store/day/target_id.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/text.h"
#include "symbolizer/base/user_name.h"
#include "symbolizer/target/proc.h"

/* --- the list --- */

/* In a pod the host's name is that of the pod: the DaemonSet says what the node is called. */
static void read_host_name(struct targets *t)
{
	const char *node = getenv("NODE_NAME");

	if (node && *node)
		text_sanitise(t->host, sizeof(t->host), node, strlen(node));
	else if (gethostname(t->host, sizeof(t->host) - 1) < 0)
		t->host[0] = '\0';
}

static void read_host(struct targets *t)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(t->boot_id, sizeof(t->boot_id), f))
		snprintf(t->boot_id, sizeof(t->boot_id), "unknown");
	t->boot_id[strcspn(t->boot_id, "\n")] = '\0';
	if (f)
		fclose(f);
	read_host_name(t);
}

int targets_init(struct targets *t, struct err *err)
{
	int r;

	t->ends = -1;
	t->list = calloc(TARGETS_MAX, sizeof(*t->list));
	t->quarantine = quarantine_new();
	t->wall_quarantine = quarantine_new();
	t->own = own_workers_new();
	if (!t->list || !t->quarantine || !t->wall_quarantine || !t->own)
		return err_set(err, -ENOMEM, "out of memory");
	read_host(t);
	r = targets_open_ends(t, err);
	return r < 0 ? r : joint_init(&t->joint, err);
}

void targets_done(struct targets *t)
{
	own_workers_free(t->own);
	quarantine_free(t->quarantine);
	quarantine_free(t->wall_quarantine);
	governor_free(t->governor);
	targets_close_ends(t);
	free(t->list);
	joint_done(&t->joint);
}

static struct target *find(const struct targets *t, const struct scan_found *f)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].who.pid == f->pid && t->list[i].who.start_ticks == f->start_ticks)
			return &t->list[i];
	return NULL;
}

static struct target *add(struct targets *t, const struct scan_found *f)
{
	struct target *one;
	size_t slot = 0;

	if (!targets_room(t, f))
		return NULL;
	while (t->slots[slot / 64] >> slot % 64 & 1)
		slot++;
	t->slots[slot / 64] |= UINT64_C(1) << slot % 64;
	one = &t->list[t->n++];
	*one = (struct target){.who = *f, .slot = slot, .how.hz = t->hz};
	targets_watch_end(t, one);
	return one;
}

static void drop(struct targets *t, size_t i)
{
	size_t slot = t->list[i].slot;

	targets_forget_end(t, &t->list[i]);
	t->slots[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	t->list[i] = t->list[--t->n];
}

/* --- targets that are sampled together --- */

static bool is_for_joint(const struct targets *t, const struct target *one)
{
	return !one->alone && !one->alone_by_rule && !t->isolate && !t->joint.refused;
}

static void join(struct targets *t, struct target *one)
{
	char user[64];

	one->divisor = one->next = targets_begin_govern(t, one);
	one->why = BROKER_WHY_CPU;
	one->cpu.again_ns = 0;
	user_name(one->who.uid, user, sizeof(user));
	one->joined = !targets_has_ended(one) && joint_admit(&t->joint, one->who.pid, one->who.start_ticks,
							     (uint32_t)one->slot, one->divisor, user);
	if (!one->joined)
		targets_ungovern(t, one);
}

void targets_leave(struct targets *t, struct target *one)
{
	if (!one->joined)
		return;
	joint_dismiss(&t->joint, (uint32_t)one->slot);
	targets_ungovern(t, one);
	one->joined = false;
}

static void start(struct targets *t, struct target *one)
{
	if (is_for_joint(t, one))
		join(t, one);
	else
		targets_start_own(t, one);
}

static bool is_left_out(const struct targets *t, const struct scan_found *f)
{
	char pid[16], user[64];
	const struct label labels[] = {{"pid", pid}, {"user", user}};

	snprintf(pid, sizeof(pid), "%d", (int)f->pid);
	user_name(f->uid, user, sizeof(user));
	return rules_leave_out(t->rules, labels, 2);
}

static bool is_start(const struct target *one, uint64_t start)
{
	return !start || start == one->who.start_ticks || target_id_is_later(start, clock_realtime_ns());
}

int targets_find(const struct targets *t, pid_t pid, uint64_t start, const struct scan_found **ret, struct err *err)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct target *one = &t->list[i];
		const struct quarantine_who who = target_blamed(one);

		if (one->who.pid != pid || !is_start(one, start) || !proc_is_there(pid, one->who.start_ticks))
			continue;
		if (one->left_out)
			return err_set(err, -EPERM, "a rule of the configuration leaves PID %d out", (int)pid);
		if (quarantine_left_ns(t->quarantine, &who, clock_monotonic_ns()))
			return err_set(
				err, -EPERM,
				"PID %d is not sampled for a while: the process that sampled it ended unexpectedly",
				(int)pid);
		*ret = &one->who;
		return 0;
	}
	return err_set(err, -ESRCH, "PID %d is no JVM that the daemon samples at present", (int)pid);
}

bool targets_found(struct targets *t, const struct scan_found *f)
{
	struct target *one = find(t, f);

	if (one)
		return true;
	one = add(t, f);
	if (!one)
		return false;
	one->left_out = is_left_out(t, f);
	if (!one->left_out)
		start(t, one);
	return true;
}

struct target *targets_joined(const struct targets *t, uint64_t slot)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].joined && t->list[i].slot == slot)
			return &t->list[i];
	return NULL;
}

/* blamed: the target that it was working on gets a worker of its own from now on; NULL: none is. */
static void joint_has_ended(struct targets *t, struct target *blamed, uint64_t now)
{
	struct quarantine_who who;

	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].joined) {
			t->list[i].joined = false;
			targets_ungovern(t, &t->list[i]);
		}
	if (!blamed)
		return;
	who = target_blamed(blamed);
	quarantine_blame(t->quarantine, &who, now);
	blamed->alone = true;
	log_warn("PID %d is sampled by a process of its own: the one that samples all others ended unexpectedly while "
		 "working on it",
		 (int)blamed->who.pid);
}

bool targets_ended(struct targets *t, pid_t child, int status)
{
	uint64_t now = clock_monotonic_ns();
	struct target *at_work;

	if (!joint_ended(&t->joint, child))
		return targets_own_ended(t, child, status, now);
	at_work = targets_joined(t, joint_at_work(&t->joint)); /* whatever its last report says about it */
	targets_take_reports(t);
	joint_has_ended(t, joint_forget(&t->joint, status) ? at_work : NULL, now);
	return true;
}

/* --- turns --- */

static void turn_joint(struct targets *t)
{
	const struct joint_options o = {
		.hz = t->hz,
		.rules = t->rules,
		.boot_id = t->boot_id,
		.host = t->host,
		.feed = t->feed,
		.ctx = t->ctx,
	};
	uint32_t slot;

	targets_take_reports(t);
	if (!t->isolate && joint_turn(&t->joint, &o, &slot))
		joint_has_ended(t, targets_joined(t, slot), clock_monotonic_ns());
}

/* Its place is needed until its last process has ended. */
static void let_go(struct targets *t, size_t i, uint64_t now)
{
	struct target *one = &t->list[i];

	targets_leave(t, one);
	targets_end_own(&one->wall, now);
	if (one->wall.pid)
		return;
	t->again(t->ctx, one->who.pid, false); /* it may be another program now, or have only seemed to end */
	drop(t, i);
}

void targets_turn(struct targets *t)
{
	uint64_t now = clock_monotonic_ns();

	turn_joint(t);
	targets_take_ends(t);
	for (size_t i = t->n; i-- > 0;) {
		struct target *one = &t->list[i];
		const struct quarantine_who who = target_blamed(one);

		targets_turn_wall(t, one, now);
		if (one->cpu.pid)
			continue;
		if (one->replaced || targets_has_ended(one))
			let_go(t, i, now);
		else if (!one->joined && !one->left_out && now >= one->cpu.again_ns &&
			 !quarantine_left_ns(t->quarantine, &who, now))
			start(t, one);
	}
}

void targets_poll(const struct targets *t, struct pollfd ret[TARGETS_FDS])
{
	ret[0] = (struct pollfd){.fd = t->joint.report, .events = POLLIN};
	ret[1] = (struct pollfd){.fd = t->ends, .events = POLLIN};
}

bool targets_told(const struct targets *t)
{
	return t->joint.ready;
}

void targets_configured(struct targets *t)
{
	uint64_t now = clock_monotonic_ns();

	joint_stop(&t->joint, SIGTERM);
	governor_free(t->governor);
	t->governor = NULL;
	for (size_t i = 0; i < t->n; i++) {
		struct target *one = &t->list[i];

		one->left_out = is_left_out(t, &one->who);
		one->how = (struct watch_how){.hz = t->hz};
		one->waits = one->alone_by_rule = false;
		targets_end_own(&one->cpu, now);
		targets_end_own(&one->wall, now);
	}
}

void targets_stop(struct targets *t, int signal)
{
	joint_stop(&t->joint, signal);
	for (size_t i = 0; i < t->n; i++) {
		if (t->list[i].cpu.pid)
			kill(t->list[i].cpu.pid, signal);
		if (t->list[i].wall.pid)
			kill(t->list[i].wall.pid, signal);
	}
}

size_t targets_running(const struct targets *t)
{
	size_t n = joint_runs(&t->joint);

	for (size_t i = 0; i < t->n; i++)
		n += (t->list[i].cpu.pid != 0) + (t->list[i].wall.pid != 0);
	return n;
}

bool targets_any_own(const struct targets *t)
{
	return targets_running(t) > joint_runs(&t->joint);
}
