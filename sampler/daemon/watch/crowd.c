#include "sampler/daemon/watch/crowd.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/closing/closing.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/watch/crowd_losses.h"
#include "sampler/daemon/watch/crowd_members.h"
#include "sampler/engine/frequency.h"
#include "sampler/engine/perf/events/perf_members.h"
#include "sampler/model/raw_sample.h"
#include "sampler/rights/descriptors.h"
#include "sampler/session/session_hosted.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

_Static_assert((int)CROWD_MAX <= (int)PERF_MEMBERS_MAX, "a slot is a number in the filter's table");

enum {
	ADMIT_MAX = 32, /* targets in one turn: opening one takes some milliseconds */
	MAPPED_MAX = 16, /* CROWD_MAPPED messages per second, and one for all others: any program can cause them */
	SHARED_AMONG = 32, /* targets that may be reading new files at the same time */
};
#define SECOND_NS UINT64_C(1000000000)
#define SLACK_NS (SECOND_NS / 4)
#define TURN_NS (SECOND_NS + SLACK_NS) /* samples cause a turn each second on a calm host, and put this one off */
#define RETRY_NS (SECOND_NS / 20) /* when the feed was full */
#define IDLE_NS (10 * SECOND_NS) /* by then all JVMs that ran at the start are known */
#define TRIM_NS (60 * SECOND_NS) /* how often unused memory is returned to the system */
#define LAST_NS (2 * SECOND_NS) /* for the keeper to read the last steps */
#define QUEUED_NS (4 * SECOND_NS) /* samples are delivered by then: a second is usual */

static struct perf_host *the_host; /* for the signal handler */

static void on_term(int signal)
{
	(void)signal;
	if (the_host)
		perf_host_stop(the_host);
}

/* --- messages of the broker --- */

static void take_admission(struct crowd *c, const struct broker_admission *a)
{
	struct member *m = a->slot < CROWD_MAX ? c->by_slot[a->slot] : NULL;

	if (a->slot >= CROWD_MAX)
		return;
	if (m && a->what == BROKER_ADMIT && m->w.pid == a->pid && m->w.start_ticks == a->start_ticks) {
		member_announce_divisor(c, m, a);
		return;
	}
	if (m)
		member_end(c, m);
	if (a->what == BROKER_ADMIT)
		member_admit(c, a);
}

static void take_admissions(struct crowd *c)
{
	struct pollfd p = {.fd = c->admitted, .events = POLLIN};
	struct broker_admission a;

	for (int i = 0; i < ADMIT_MAX && poll(&p, 1, 0) == 1; i++) {
		if (channel_receive(c->admitted, &a, sizeof(a), NULL) < 0) {
			log_error("the process that keeps the privileges has ended");
			c->status = WATCH_FAILED;
			perf_host_stop(c->host);
			return;
		}
		take_admission(c, &a);
	}
}

/* --- turns --- */

/*
 * A rule that matches nothing is a mistake, or is for a JVM that does not run yet: reported once, and not as an error.
 */
static void say_idle_rules(struct crowd *c, uint64_t now_ns)
{
	char why[400];

	if (!c->idle_ns)
		c->idle_ns = rules_used(c->o->rules) ? now_ns + IDLE_NS : 0;
	if (!c->idle_ns || now_ns < c->idle_ns)
		return;
	c->idle_ns = UINT64_MAX;
	for (size_t i = 0; i < rules_count(c->o->rules); i++)
		if (rules_idle(c->o->rules, i, why, sizeof(why)))
			log_warn("%s", why);
}

static void tell_mapped(struct crowd *c, pid_t pid)
{
	const struct crowd_report r = {.what = CROWD_MAPPED, .pid = pid};

	channel_send(c->o->report, &r, sizeof(r), -1);
}

/* Processes that were too many to report. */
static void tell_missed(struct crowd *c)
{
	if (c->mapped > MAPPED_MAX)
		tell_mapped(c, 0);
	c->mapped = 0;
}

/*
 * Identifies targets whose JVM has become readable, since a JVM that lives for only some seconds is to have its name,
 * too. Those that have ended are dismissed by the first process.
 */
static void look(struct crowd *c, uint64_t now_ns)
{
	if (now_ns < c->look_ns)
		return;
	c->look_ns = now_ns + SECOND_NS;
	tell_missed(c);
	for (uint32_t i = c->n; i-- > 0;) {
		struct member *m = c->by_slot[c->slots[i]];

		if (!m->over && !m->identified)
			member_look(c, m);
		(void)member_divisor_at(c, m, now_ns - QUEUED_NS); /* if it has no samples */
		member_tell_cost(c, m);
	}
	if (now_ns >= c->trim_ns) {
		malloc_trim(0);
		c->trim_ns = now_ns + TRIM_NS;
	}
	say_idle_rules(c, now_ns);
	crowd_losses_turn(c, now_ns);
	feed_out_say_dropped(&c->out, FEED_TARGETS_MAX);
}

/* Returns after what time to call it again. */
static uint64_t end_steps(struct crowd *c, uint64_t now_ns)
{
	uint64_t now = clock_realtime_ns(), next = now + TURN_NS, pause_ns;

	if (now_ns + SLACK_NS < c->steps_ns)
		return c->steps_ns - now_ns;
	for (uint32_t i = c->n; i-- > 0;) {
		struct member *m = c->by_slot[c->slots[i]];

		if (watched_step_over(&m->w, now) && !m->over)
			member_end_step(c, m);
		if (m->over && m->w.introduced)
			watched_gone(&m->w);
		if (m->w.next_ns < next)
			next = m->w.next_ns;
	}
	crowd_work_on(c, NULL);
	pause_ns = next > now ? next - now : 0;
	c->steps_ns = now_ns + pause_ns;
	return pause_ns;
}

/* Kept until another target's sample or on_idle(): each change costs a system call. */
static void work_for(struct crowd *c, struct member *m)
{
	if (c->at_work != m)
		crowd_work_on(c, m);
}

static void on_idle(void *ctx)
{
	struct crowd *c = ctx;

	if (c->at_work)
		crowd_work_on(c, NULL);
}

static uint64_t on_turn(void *ctx)
{
	struct crowd *c = ctx;
	uint64_t now = clock_monotonic_ns(), pause_ns;
	int r;

	on_idle(c);
	take_admissions(c);
	look(c, now);
	pause_ns = end_steps(c, now);
	r = feed_out_send(&c->out);
	if (r < 0) {
		c->status = WATCH_NO_KEEPER;
		perf_host_stop(c->host);
	}
	return clock_monotonic_ns() + (r > 0 && pause_ns > RETRY_NS ? RETRY_NS : pause_ns);
}

/* --- what is sampled --- */

static void on_sample(void *ctx, const struct raw_sample *raw)
{
	struct crowd *c = ctx;
	struct member *m = member_find(c, raw->pid);
	struct raw_sample own = *raw;
	uint32_t divisor;

	c->late += !m;
	if (!m || m->over)
		return;
	work_for(c, m);
	divisor = member_divisor_at(c, m, raw->time_ns);
	own.weight *= divisor;
	if (session_hosted_sample(m->session, &own)) {
		member_took(m, divisor);
		return;
	}
	m->doubtful++;
	c->late++;
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct crowd *c = ctx;
	struct member *m = member_find(c, pid);

	if (!m)
		return;
	work_for(c, m);
	session_hosted_thread(m->session, tid, comm);
}

static void on_thread_exit(void *ctx, pid_t pid, pid_t tid)
{
	struct crowd *c = ctx;
	struct member *m = member_find(c, pid);

	if (!m)
		return;
	work_for(c, m);
	session_hosted_thread_exit(m->session, tid);
}

/* It is another program now, which may not even be one to sample. */
static void on_exec(void *ctx, pid_t pid)
{
	struct crowd *c = ctx;
	struct member *m = member_find(c, pid);

	if (!m)
		return;
	crowd_report(c, m, CROWD_EXEC);
	member_end(c, m);
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct crowd *c = ctx;
	struct member *m = member_find(c, pid);

	if (!m) {
		if (c->mapped++ < MAPPED_MAX)
			tell_mapped(c, pid);
		return;
	}
	crowd_work_on(c, m);
	session_hosted_mapped(m->session);
	crowd_work_on(c, NULL);
}

/* --- the run --- */

static int set_member(void *ctx, pid_t pid, uint32_t slot, uint32_t divisor)
{
	return perf_members_set(ctx, pid, slot, divisor);
}

static int change_member(void *ctx, pid_t pid, uint32_t slot, uint32_t divisor)
{
	return perf_members_change(ctx, pid, slot, divisor);
}

static void remove_member(void *ctx, pid_t pid)
{
	perf_members_remove(ctx, pid);
}

static int start_broker(struct crowd *c, struct err *err)
{
	CLEANUP(close_at_exit) int to = -1;
	struct perf_members *members = perf_host_members(c->host);
	int pair[2], r = channel_pair(pair);
	struct broker_admissions a = {
		.from = c->o->admit,
		.set = set_member,
		.change = change_member,
		.remove = remove_member,
		.ctx = members,
		.keep = members->exec_fd,
	};

	if (r < 0)
		return err_set(err, r, "cannot make a socket: %s", strerror(-r));
	if (members->exec_fd < 0)
		log_info("a process that executes another program is sampled until it has been dismissed (%s)",
			 strerror(-members->exec_fd));
	c->admitted = pair[0];
	a.to = to = pair[1];
	r = closing_fork(&c->closing, &(struct closing_targets){.admissions = &a}, err);
	close(c->o->admit);
	perf_members_unmap(members);
	return r;
}

static int begin(struct crowd *c, struct err *err)
{
	const struct perf_host_options po = {.period_ns = frequency_period_ns(c->o->hz), .kernel = true};
	const struct session_options so = {
		.engine_options = {.event = "cpu", .period = po.period_ns, .kernel = true},
		.profile = {.threads = true},
		.slice_ns = FEED_SLICE_NS,
		.slice_lead_ns = FEED_LEAD_NS,
		.bridge = BRIDGE_OFF,
		.jsampler_command = "jsampler daemon",
		.files = &c->files,
	};
	int r;

	descriptors_raise();
	session_hosting_pool(&c->files, SHARED_AMONG);
	r = perf_host_open(&po, &c->host, err);
	if (r == 0)
		r = session_hosting_open(&so, &c->hosting, err);
	if (r == 0)
		r = start_broker(c, err);
	if (r == 0)
		r = closing_close(&c->closing, err);
	if (r == 0)
		r = perf_host_start(c->host, err);
	return r;
}

static void send_rest(struct crowd *c)
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};
	uint64_t until = clock_monotonic_ns() + LAST_NS;

	while (feed_out_send(&c->out) > 0 && clock_monotonic_ns() < until)
		nanosleep(&pause, NULL);
}

static void sample(struct crowd *c)
{
	const struct perf_host_sink sink = {
		.ctx = c,
		.fd = c->admitted,
		.sample = on_sample,
		.thread = on_thread,
		.thread_exit = on_thread_exit,
		.exec = on_exec,
		.mapped = on_mapped,
		.idle = on_idle,
		.turn = on_turn,
	};
	const struct crowd_report ready = {.what = CROWD_READY};

	channel_send(c->o->report, &ready, sizeof(ready), -1);
	perf_host_run(c->host, &sink);
	while (c->n)
		member_end(c, c->by_slot[c->slots[c->n - 1]]);
	crowd_losses_end(c);
	if (c->status != WATCH_NO_KEEPER)
		send_rest(c);
}

static void crowd_free(struct crowd *c)
{
	perf_host_close(c->host);
	session_hosting_close(c->hosting);
	closing_done(&c->closing);
	feed_out_done(&c->out);
	close_at_exit(&c->admitted);
	free(c);
}

int crowd_run(const struct crowd_options *o)
{
	struct crowd *c = calloc(1, sizeof(*c));
	const struct sigaction term = {.sa_handler = on_term};
	enum watch_status status;
	struct err err = {0};
	int r;

	if (!c)
		return WATCH_FAILED;
	c->o = o;
	c->out.socket = o->feed;
	c->admitted = -1;
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	r = begin(c, &err);
	if (r < 0) {
		log_warn("%s", err.msg);
		crowd_free(c);
		return WATCH_FAILED;
	}
	the_host = c->host;
	sigaction(SIGTERM, &term, NULL);
	sample(c);
	the_host = NULL;
	status = c->status;
	crowd_free(c);
	return (int)status;
}
