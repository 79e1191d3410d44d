#include "sampler/daemon/watch/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/closing/closing.h"
#include "sampler/daemon/identity/identity.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/watch/feed_out.h"
#include "sampler/daemon/watch/who.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/session.h"
#include "sampler/store/store.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum {
	NUMBER = 0, /* of the only target in this feed */
};

#define SECOND_NS UINT64_C(1000000000)
#define STEP_NS (STORE_STEP_S * SECOND_NS)
#define RETRY_NS (SECOND_NS / 20) /* when the feed was full */
#define LAST_NS (2 * SECOND_NS) /* what the keeper may take to read the last step */

struct watch {
	const struct watch_options *o;
	struct feed_out out;
	struct who who;
	struct identity identity;
	uint64_t next_ns; /* end of the present step, CLOCK_REALTIME */
	uint64_t since_ns;
	bool introduced;
	enum watch_status status;
};

static struct session *the_session; /* for the signal handler */

static void on_term(int signal)
{
	(void)signal;
	if (the_session)
		session_stop(the_session);
}

/* --- who the target is --- */

static void identify(struct watch *w, const char *jdk)
{
	struct identity_facts f = {.pid = w->o->pid, .host = w->o->host, .user = w->o->user, .jdk = jdk};

	who_facts(&w->who, &f);
	identity_find(&f, &w->identity);
}

/* Labels of the rule come first: the reader takes the first of each key. */
static int introduce(struct watch *w, const struct rule_choice *c)
{
	struct label labels[IDENTITY_LABELS + RULE_LABELS];
	size_t n = 0;

	for (size_t i = 0; i < c->n_labels; i++)
		labels[n++] = c->labels[i];
	for (size_t i = 0; i < w->identity.n; i++) {
		bool has = false;

		for (size_t k = 0; k < c->n_labels; k++)
			has |= strcmp(c->labels[k].key, w->identity.labels[i].key) == 0;
		if (!has)
			labels[n++] = w->identity.labels[i];
	}
	return feed_out_add(&w->out, &(struct feed_message){
					     .kind = FEED_TARGET,
					     .target = NUMBER,
					     .boot_id = w->o->boot_id,
					     .pid = w->o->pid,
					     .start_ticks = w->o->start_ticks,
					     .since_ns = w->since_ns,
					     .labels = labels,
					     .n_labels = n,
				     });
}

/* false: it is not to be sampled like this. */
static bool decide(struct watch *w, const char *jdk)
{
	struct rule_choice c;

	identify(w, jdk);
	c = rules_choose(w->o->rules, w->identity.labels, w->identity.n);
	if (c.leave_out) {
		w->status = WATCH_LEFT_OUT;
		return false;
	}
	if (c.frequency && c.frequency != w->o->hz) {
		*w->o->hz_wanted = c.frequency;
		w->status = WATCH_AGAIN;
		return false;
	}
	w->introduced = introduce(w, &c) == 0;
	return true;
}

/* --- steps --- */

static int send_profile(struct watch *w, const struct named_profile *np, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&bytes, &len);
	int r = f ? writer_pprof_plain.write(np, &(struct writer_options){0}, f, err) : -ENOMEM;

	if (f && fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	return r < 0 ? r :
		       feed_out_add(&w->out, &(struct feed_message){.kind = FEED_PROFILE,
								    .target = NUMBER,
								    .profile = bytes,
								    .profile_len = len});
}

static void tell_dropped(struct watch *w)
{
	char text[80];

	snprintf(text, sizeof(text), "the keeper did not keep up: %llu steps were dropped",
		 (unsigned long long)w->out.dropped);
	if (feed_out_add(&w->out, &(struct feed_message){.kind = FEED_EVENT,
							 .target = NUMBER,
							 .event = FEED_GAP,
							 .time_ns = clock_realtime_ns(),
							 .text = text}) == 0)
		w->out.dropped = 0;
}

static void end_step(struct watch *w, struct session *s)
{
	struct named_profile *np;
	struct err err = {0};
	int r = session_take(s, &np, &err);

	if (r == 0 && !w->introduced && w->status == WATCH_ENDED && !decide(w, np->meta.jdk))
		session_stop(s);
	if (r == 0 && w->introduced && np->n_samples)
		r = send_profile(w, np, &err);
	if (r == 0)
		named_profile_free(np);
	if (r < 0)
		log_warn("PID %d: a step is lost: %s", (int)w->o->pid, err.msg[0] ? err.msg : strerror(-r));
	if (w->out.dropped)
		tell_dropped(w);
}

/* Targets that run at the same time do not end their steps at the same moment. */
static uint64_t step_end(const struct watch *w, uint64_t now_ns)
{
	uint64_t late = (uint64_t)w->o->pid * 7919 % 1000 * (SECOND_NS / 1000);

	return (now_ns / STEP_NS + 1) * STEP_NS + late;
}

static uint64_t on_turn(void *ctx, struct session *s)
{
	struct watch *w = ctx;
	uint64_t look_ns = who_look(&w->who, w->o->pid, s), now = clock_realtime_ns(), wait_ns;
	int r;

	if (now >= w->next_ns || w->next_ns - now > 2 * STEP_NS) { /* or the clock was set back */
		end_step(w, s);
		w->next_ns = step_end(w, now);
	}
	r = feed_out_send(&w->out);
	if (r < 0) {
		w->status = WATCH_NO_KEEPER;
		session_stop(s);
	}
	now = clock_realtime_ns();
	wait_ns = r > 0 ? RETRY_NS : w->next_ns > now ? w->next_ns - now : 0;
	return clock_monotonic_ns() + (look_ns && look_ns < wait_ns ? look_ns : wait_ns);
}

static void send_rest(struct watch *w)
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};
	uint64_t until = clock_monotonic_ns() + LAST_NS;

	while (feed_out_send(&w->out) > 0 && clock_monotonic_ns() < until)
		nanosleep(&pause, NULL);
}

/* --- the run --- */

/* The PID may be another process's by now. */
static bool is_same(const struct watch_options *o)
{
	struct proc *p;
	bool same;

	if (proc_open(o->pid, &p, NULL) < 0)
		return false;
	same = proc_start_ticks(p) == o->start_ticks;
	proc_close(p);
	return same;
}

static int begin(struct watch *w, struct closing *c, struct session **ret, struct err *err)
{
	const struct watch_options *o = w->o;
	const struct closing_targets targets = {.pids = &o->pid, .n = 1};
	const struct session_options so = {
		.engine = &engine_perf_ops,
		.engine_options = {.event = "cpu", .period = SECOND_NS / o->hz, .kernel = true},
		.profile = {.threads = true},
		.turn = on_turn,
		.turn_ctx = w,
		.bridge = BRIDGE_OFF,
		.jsampler_command = "jsampler daemon",
	};
	int r = closing_fork(c, &targets, err);

	if (r == 0)
		r = session_open(o->pid, &so, ret, err);
	if (r == 0 && !is_same(o))
		r = -ESRCH;
	if (r == 0)
		r = closing_close(c, session_traces(*ret), err);
	if (r == 0)
		r = session_start(*ret, err);
	return r;
}

static void sample(struct watch *w, struct session *s)
{
	struct err err = {0};
	int r;

	w->since_ns = clock_realtime_ns();
	w->next_ns = step_end(w, w->since_ns);
	r = session_run(s, 0, &err);
	if (r < 0)
		log_warn("PID %d: %s", (int)w->o->pid, err.msg);
	if (w->status != WATCH_ENDED)
		return;
	end_step(w, s);
	if (w->introduced)
		feed_out_add(&w->out, &(struct feed_message){.kind = FEED_GONE, .target = NUMBER});
	send_rest(w);
}

int watch_run(const struct watch_options *o)
{
	struct watch w = {.o = o, .out = {.socket = o->feed}};
	const struct sigaction term = {.sa_handler = on_term};
	struct closing closing = {0};
	struct session *s = NULL;
	struct err err = {0};
	int r;

	sigaction(SIGTERM, &term, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	r = begin(&w, &closing, &s, &err);
	the_session = s;
	if (r == 0)
		sample(&w, s);
	else if (r != -ESRCH)
		log_warn("PID %d is not sampled: %s", (int)o->pid, err.msg);
	the_session = NULL;
	session_close(s);
	closing_done(&closing);
	feed_out_done(&w.out);
	who_done(&w.who);
	return r == 0 || r == -ESRCH ? (int)w.status : WATCH_FAILED;
}
