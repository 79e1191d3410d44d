#include "sampler/daemon/watch/crowd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/closing/closing.h"
#include "sampler/daemon/watch/feed_out.h"
#include "sampler/daemon/watch/watch.h"
#include "sampler/daemon/watch/watched.h"
#include "sampler/engine/perf/events/perf_members.h"
#include "sampler/engine/perf/perf_host.h"
#include "sampler/model/named_profile.h"
#include "sampler/model/raw_sample.h"
#include "sampler/profile/named_builder.h"
#include "sampler/rights/descriptors.h"
#include "sampler/session/session_hosted.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

_Static_assert((int)CROWD_MAX <= (int)PERF_MEMBERS_MAX, "a slot is a number in the filter's table");

enum {
	ADMIT_MAX = 32, /* targets in one turn: opening one takes some milliseconds */
	SHARED_AMONG = 32, /* targets that are busy with what is new at the same time */
	ALONE_MIN = 50, /* samples of a step, of which one in ALONE_SHARE has to be read while the thread waits */
	ALONE_SHARE = 20,
};
#define SECOND_NS UINT64_C(1000000000)
#define RETRY_NS (SECOND_NS / 20) /* when the feed was full */
#define LAST_NS (2 * SECOND_NS) /* what the keeper may take to read the last steps */
#define COST_NS UINT64_C(1000000) /* the least that is reported */

struct member {
	struct watched w;
	struct session *session;
	uint32_t slot, divisor;
	uint32_t next_divisor; /* of samples from change_ns on (CLOCK_MONOTONIC); 0: as before */
	uint64_t change_ns;
	uint64_t cost_ns, cost_told_ns; /* CPU time that it has taken, and of that, what the first process knows */
	bool identified, over;
	bool mixed; /* samples of this step have different periods */
	uint64_t doubtful; /* samples that may be another program's */
	char user[sizeof(((struct broker_admission *)0)->note)];
};

struct crowd {
	const struct crowd_options *o;
	struct feed_out out;
	struct budget_pool files;
	struct perf_host *host;
	struct session_hosting *hosting;
	struct closing closing;
	int admitted; /* from the broker */
	struct member *by_slot[CROWD_MAX];
	uint32_t slots[CROWD_MAX], n; /* of the members */
	struct member *at_work; /* since at_ns of this thread's CPU time */
	uint64_t at_ns;
	uint64_t look_ns; /* when to see who has ended; CLOCK_MONOTONIC */
	struct perf_host_stats told; /* losses that the keeper knows of */
	enum watch_status status;
};

static struct perf_host *the_host; /* for the signal handler */

static void on_term(int signal)
{
	(void)signal;
	if (the_host)
		perf_host_stop(the_host);
}

/* --- the members --- */

static struct member *find(const struct crowd *c, pid_t pid)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->by_slot[c->slots[i]]->w.pid == pid)
			return c->by_slot[c->slots[i]];
	return NULL;
}

/* m NULL: no target's work. */
static void begin_work(struct crowd *c, struct member *m)
{
	uint64_t cpu_ns = clock_thread_cpu_ns();

	if (c->at_work)
		c->at_work->cost_ns += cpu_ns - c->at_ns;
	c->at_work = m;
	c->at_ns = cpu_ns;
	atomic_store(&c->o->page->slot, m ? m->slot + 1 : 0);
	atomic_fetch_add(&c->o->page->turns, 1);
}

static void report(const struct crowd *c, const struct member *m, enum crowd_report_what what, uint32_t hz)
{
	const struct crowd_report r = {.what = what, .slot = m->slot, .hz = hz, .pid = m->w.pid, .cpu_ns = m->cost_ns};

	channel_send(c->o->report, &r, sizeof(r), -1);
}

static uint64_t period_of(const struct crowd *c, uint32_t divisor)
{
	return SECOND_NS / c->o->hz * divisor;
}

static void member_free(struct member *m)
{
	session_close(m->session);
	who_done(&m->w.who);
	free(m);
}

/* Without a word to the keeper. */
static void forget(struct crowd *c, struct member *m)
{
	perf_host_watch(c->host, m->w.pid, false);
	if (c->at_work == m)
		c->at_work = NULL;
	c->by_slot[m->slot] = NULL;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->slots[i] == m->slot) {
			c->slots[i] = c->slots[--c->n];
			break;
		}
	member_free(m);
}

static void tell_doubtful(struct crowd *c, struct member *m)
{
	char text[100];

	if (!m->doubtful || !m->w.introduced)
		return;
	snprintf(text, sizeof(text), "%llu samples came too late to be certain whose they were, and were not counted",
		 (unsigned long long)m->doubtful);
	feed_out_event(&c->out, m->slot, FEED_GAP, text);
	m->doubtful = 0;
}

/* --- who they are --- */

/* false: it is not to be sampled here, and is over. */
static bool identify(struct crowd *c, struct member *m)
{
	struct watched *w = &m->w;

	if (m->identified)
		return true;
	watched_identify(w, session_hosted_jdk(m->session));
	m->identified = true;
	if (w->choice.leave_out)
		report(c, m, CROWD_LEFT_OUT, 0);
	else if (w->choice.frequency && w->choice.frequency != c->o->hz)
		report(c, m, CROWD_ALONE, w->choice.frequency);
	else
		watched_introduce(w);
	m->over = !w->introduced;
	return w->introduced;
}

/* Frames of virtual threads, and the rest of very deep stacks, have to be read while the thread waits, which takes events of its own. */
static bool is_for_itself(const struct named_profile *np)
{
	uint64_t bad = np->meta.frozen + np->meta.incomplete, all = bad + np->meta.complete + np->meta.resynchronised;

	return all >= ALONE_MIN && bad * ALONE_SHARE > all;
}

static void end_step(struct crowd *c, struct member *m)
{
	struct named_profile *np;
	struct err err = {0};
	bool alone = false;
	int r;

	begin_work(c, m);
	if (!identify(c, m))
		return;
	r = session_take(m->session, &np, &err);
	if (r == 0) {
		alone = is_for_itself(np);
		if (m->mixed)
			np->meta.period = 0; /* various; each sample has its weight */
		r = watched_send(&m->w, np, &err);
		named_profile_free(np);
	}
	if (r < 0)
		watched_say_lost(&m->w, r, &err);
	m->mixed = false;
	tell_doubtful(c, m);
	if (alone && !m->over)
		report(c, m, CROWD_ALONE, 0);
	m->over |= alone;
}

static void end_member(struct crowd *c, struct member *m)
{
	bool was_over = m->over;

	begin_work(c, m);
	session_hosted_end(m->session);
	if (!was_over || m->w.introduced)
		end_step(c, m);
	watched_gone(&m->w);
	forget(c, m);
	begin_work(c, NULL);
}

/* --- how often they are sampled --- */

static uint32_t hz_of(const struct crowd *c, uint32_t divisor)
{
	return (c->o->hz + divisor / 2) / divisor;
}

static void tell_divisor(struct crowd *c, const struct member *m, uint32_t before)
{
	char text[100];

	snprintf(text, sizeof(text), "sampled %u times for each second of CPU time, not %u: cpu_limit",
		 hz_of(c, m->divisor), hz_of(c, before));
	if (m->w.introduced)
		feed_out_event(&c->out, m->slot, FEED_THROTTLE, text);
}

static void change_divisor(struct crowd *c, struct member *m)
{
	uint32_t before = m->divisor;

	m->divisor = m->next_divisor;
	m->next_divisor = 0;
	m->mixed = true;
	session_hosted_period(m->session, period_of(c, m->divisor));
	tell_divisor(c, m, before);
}

/*
 * The broker changes the filter at that time, which is later than now, so samples taken before and after differ by their times. A change that
 * does not hold yet never will: this one takes its place, in the broker too.
 */
static void announce_divisor(struct crowd *c, struct member *m, const struct broker_admission *a)
{
	if (m->next_divisor && m->change_ns <= clock_monotonic_ns())
		change_divisor(c, m);
	m->next_divisor = a->divisor;
	m->change_ns = a->at_ns;
}

static uint32_t divisor_at(struct crowd *c, struct member *m, uint64_t time_ns)
{
	if (m->next_divisor && time_ns >= m->change_ns)
		change_divisor(c, m);
	return m->divisor;
}

/* --- what the broker says --- */

static void admit(struct crowd *c, const struct broker_admission *a)
{
	struct member *m = calloc(1, sizeof(*m));
	struct err err = {0};
	int r;

	if (!m)
		return;
	m->slot = a->slot;
	m->divisor = a->divisor;
	memcpy(m->user, a->note, sizeof(m->user) - 1);
	m->w = (struct watched){
		.pid = a->pid,
		.start_ticks = a->start_ticks,
		.number = a->slot,
		.boot_id = c->o->boot_id,
		.host = c->o->host,
		.user = m->user,
		.rules = c->o->rules,
		.out = &c->out,
		.since_ns = clock_realtime_ns(),
	};
	watched_begin_steps(&m->w, m->w.since_ns);
	begin_work(c, m);
	r = session_open_hosted(c->hosting, a->pid, period_of(c, a->divisor), &m->session, &err);
	if (r < 0) {
		if (r != -ESRCH)
			log_warn("PID %d is not sampled: %s", (int)a->pid, err.msg);
		begin_work(c, NULL);
		report(c, m, r == -ESRCH ? CROWD_GONE : CROWD_ALONE, 0);
		member_free(m);
		return;
	}
	(void)who_look(&m->w.who, a->pid, m->session);
	begin_work(c, NULL);
	c->by_slot[a->slot] = m;
	c->slots[c->n++] = a->slot;
	perf_host_watch(c->host, a->pid, true);
}

static void take_admission(struct crowd *c, const struct broker_admission *a)
{
	struct member *m = a->slot < CROWD_MAX ? c->by_slot[a->slot] : NULL;

	if (a->slot >= CROWD_MAX)
		return;
	if (m && a->what == BROKER_ADMIT && m->w.pid == a->pid && m->w.start_ticks == a->start_ticks) {
		announce_divisor(c, m, a);
		return;
	}
	if (m)
		end_member(c, m);
	if (a->what == BROKER_ADMIT)
		admit(c, a);
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

static void tell_losses(struct crowd *c)
{
	struct perf_host_stats s = perf_host_stats(c->host);
	uint64_t lost = s.lost_ring + s.lost_queue, told = c->told.lost_ring + c->told.lost_queue;
	char text[100];

	if (lost <= told)
		return;
	snprintf(text, sizeof(text), "%llu samples were lost, of all programs together",
		 (unsigned long long)(lost - told));
	log_warn("%s", text);
	if (feed_out_event(&c->out, FEED_TARGETS_MAX, FEED_GAP, text) == 0)
		c->told = s;
}

static void tell_cost(const struct crowd *c, struct member *m)
{
	if (m->cost_ns - m->cost_told_ns < COST_NS)
		return;
	m->cost_told_ns = m->cost_ns;
	report(c, m, CROWD_COST, 0);
}

/* Who has ended, and who can be named now that its JVM is readable: one that lives for some seconds is to have its name. */
static void look(struct crowd *c, uint64_t now_ns)
{
	if (now_ns < c->look_ns)
		return;
	c->look_ns = now_ns + SECOND_NS;
	for (uint32_t i = c->n; i-- > 0;) {
		struct member *m = c->by_slot[c->slots[i]];

		if (session_hosted_gone(m->session)) {
			report(c, m, CROWD_GONE, 0);
			end_member(c, m);
			continue;
		}
		begin_work(c, m);
		if (!m->over && !m->identified && !who_look(&m->w.who, m->w.pid, m->session))
			identify(c, m);
		begin_work(c, NULL);
		(void)divisor_at(
			c, m, now_ns - 2 * SECOND_NS); /* of one that has no samples; those in the queue are younger */
		tell_cost(c, m);
	}
	tell_losses(c);
	feed_out_say_dropped(&c->out, FEED_TARGETS_MAX);
}

static uint64_t end_steps(struct crowd *c)
{
	uint64_t now = clock_realtime_ns(), next = now + SECOND_NS;

	for (uint32_t i = c->n; i-- > 0;) {
		struct member *m = c->by_slot[c->slots[i]];

		if (watched_step_over(&m->w, now) && !m->over)
			end_step(c, m);
		if (m->over && m->w.introduced)
			watched_gone(&m->w);
		if (m->w.next_ns < next)
			next = m->w.next_ns;
	}
	begin_work(c, NULL);
	return next > now ? next - now : 0;
}

static uint64_t on_turn(void *ctx)
{
	struct crowd *c = ctx;
	uint64_t now = clock_monotonic_ns(), pause_ns;
	int r;

	take_admissions(c);
	look(c, now);
	pause_ns = end_steps(c);
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
	struct member *m = find(c, raw->pid);
	struct raw_sample own = *raw;

	if (!m || m->over)
		return;
	begin_work(c, m);
	own.weight *= divisor_at(c, m, raw->time_ns);
	m->doubtful += !session_hosted_sample(m->session, &own);
	begin_work(c, NULL);
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct member *m = find(ctx, pid);

	if (m)
		session_hosted_thread(m->session, tid, comm);
}

static void on_thread_exit(void *ctx, pid_t pid, pid_t tid)
{
	struct member *m = find(ctx, pid);

	if (m)
		session_hosted_thread_exit(m->session, tid);
}

/* It is another program now, maybe not even one that is to be sampled. */
static void on_exec(void *ctx, pid_t pid)
{
	struct crowd *c = ctx;
	struct member *m = find(c, pid);

	if (!m)
		return;
	report(c, m, CROWD_EXEC, 0);
	end_member(c, m);
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct crowd *c = ctx;
	struct member *m = find(c, pid);

	if (!m)
		return;
	begin_work(c, m);
	session_hosted_mapped(m->session);
	begin_work(c, NULL);
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
		log_info("what a sampled process executes is sampled until it is dismissed (%s)",
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
	const struct perf_host_options po = {.period_ns = SECOND_NS / c->o->hz, .kernel = true};
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
	session_files_pool(&c->files, SHARED_AMONG);
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
		.turn = on_turn,
	};
	const struct crowd_report ready = {.what = CROWD_READY};

	channel_send(c->o->report, &ready, sizeof(ready), -1);
	perf_host_run(c->host, &sink);
	while (c->n)
		end_member(c, c->by_slot[c->slots[c->n - 1]]);
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
