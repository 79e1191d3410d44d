#include "sampler/daemon/watch/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "sampler/closing/closing.h"
#include "sampler/daemon/watch/feed_out.h"
#include "sampler/daemon/watch/watched.h"
#include "sampler/engine/frequency.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/session.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

#define SECOND_NS UINT64_C(1000000000)
#define RETRY_NS (SECOND_NS / 20) /* when the feed was full */
#define LAST_NS (2 * SECOND_NS) /* for the keeper to read the last step */

struct watch {
	const struct watch_options *o;
	struct feed_out out;
	struct watched w;
	enum watch_status status;
};

static struct session *the_session; /* for the signal handler */

static void on_term(int signal)
{
	(void)signal;
	if (the_session)
		session_stop(the_session);
}

/* --- steps --- */

static void end_step(struct watch *w, struct session *s)
{
	struct named_profile *np;
	struct err err = {0};
	int r = session_take(s, &np, &err);

	if (r == 0 && !w->w.introduced && w->status == WATCH_ENDED) {
		w->status = watched_identify(&w->w, np->meta.jdk, w->o->capture_ns ? NULL : &w->o->how,
					     &w->o->page->wanted);
		if (w->status != WATCH_ENDED)
			session_stop(s);
	}
	if (r == 0) {
		r = watched_send(&w->w, np, &err);
		named_profile_free(np);
	}
	if (r < 0)
		watched_say_lost(&w->w, r, &err);
	feed_out_say_dropped(&w->out, w->w.number);
}

static uint64_t on_turn(void *ctx, struct session *s)
{
	struct watch *w = ctx;
	uint64_t look_ns = who_look(&w->w.who, w->o->pid, s), now = clock_realtime_ns(), wait_ns;
	int r;

	atomic_fetch_add(&w->o->page->turns, 1);
	if (watched_step_over(&w->w, now))
		end_step(w, s);
	r = feed_out_send(&w->out);
	if (r < 0) {
		w->status = WATCH_NO_KEEPER;
		session_stop(s);
	}
	now = clock_realtime_ns();
	wait_ns = r > 0 ? RETRY_NS : w->w.next_ns > now ? w->w.next_ns - now : 0;
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

static int begin(struct watch *w, struct closing *c, struct session **ret, struct err *err)
{
	const struct watch_options *o = w->o;
	const struct closing_targets targets = {.pids = &o->pid, .n = 1};
	const bool wall = o->how.wall, history = !o->capture_ns && !wall;
	struct session_options so = {
		.engine = o->how.suspend || wall ? &engine_suspend_ops : &engine_perf_ops,
		.engine_options = {.event = wall ? "wall" : "cpu",
				   .period = frequency_period_ns(o->how.hz),
				   .kernel = true},
		.only_jvm = wall,
		.one_program = history, /* another program is another target */
		.profile = {.threads = true},
		.slice_ns = history ? FEED_SLICE_NS : 0,
		.slice_lead_ns = FEED_LEAD_NS,
		.turn = on_turn,
		.turn_ctx = w,
		.bridge = BRIDGE_OFF,
		.jsampler_command = "jsampler daemon",
		.files = &o->page->files,
	};
	int r = closing_fork(c, &targets, err);

	so.engine_options.confine_tracer = closing_tracer;
	if (r == 0)
		r = session_open(o->pid, &so, ret, err);
	if (r == 0 && !proc_is_there(o->pid, o->start_ticks))
		r = -ESRCH;
	if (r == 0)
		r = closing_close(c, err);
	if (r == 0)
		r = session_start(*ret, err);
	return r;
}

static void sample(struct watch *w, struct session *s)
{
	struct err err = {0};
	int r;

	w->w.since_ns = clock_realtime_ns();
	watched_begin_steps(&w->w, w->w.since_ns);
	r = session_run(s, w->o->capture_ns, &err);
	if (r < 0)
		log_warn("PID %d: %s", (int)w->o->pid, err.msg);
	if (w->status != WATCH_ENDED)
		return;
	end_step(w, s);
	watched_gone(&w->w);
	send_rest(w);
	if (w->status == WATCH_ENDED && session_executed(s))
		w->status = WATCH_EXEC;
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
	w.w = (struct watched){
		.pid = o->pid,
		.start_ticks = o->start_ticks,
		.boot_id = o->boot_id,
		.host = o->host,
		.user = o->user,
		.rules = o->rules,
		.out = &w.out,
	};
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
	who_done(&w.w.who);
	return r == 0 || r == -ESRCH ? (int)w.status : WATCH_FAILED;
}
