#include "sampler/daemon/watch/crowd_members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/frequency.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/session_hosted.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

enum {
	ALONE_MIN = 50, /* samples of a step, of which one in ALONE_SHARE has to be read while its thread waits */
	ALONE_SHARE = 20,
};
#define COST_NS UINT64_C(1000000) /* the smallest cost that is reported */

struct member *member_find(const struct crowd *c, pid_t pid)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->by_slot[c->slots[i]]->w.pid == pid)
			return c->by_slot[c->slots[i]];
	return NULL;
}

void crowd_work_on(struct crowd *c, struct member *m)
{
	uint64_t cpu_ns = clock_thread_cpu_ns();

	if (c->at_work)
		c->at_work->cost_ns += cpu_ns - c->at_ns;
	c->at_work = m;
	c->at_ns = cpu_ns;
	atomic_store(&c->o->page->slot, m ? m->slot + 1 : 0);
	atomic_fetch_add(&c->o->page->turns, 1);
}

static void report(const struct crowd *c, const struct member *m, enum crowd_report_what what, struct watch_how how)
{
	const struct crowd_report r = {
		.what = what,
		.slot = m->slot,
		.hz = how.hz,
		.suspend = how.suspend,
		.wall = how.wall,
		.pid = m->w.pid,
		.cpu_ns = m->cost_ns,
	};

	channel_send(c->o->report, &r, sizeof(r), -1);
}

void crowd_report(const struct crowd *c, const struct member *m, enum crowd_report_what what)
{
	report(c, m, what, (struct watch_how){0});
}

static uint64_t period_of(const struct crowd *c, uint32_t divisor)
{
	return frequency_period_ns(c->o->hz) * divisor;
}

static void member_free(struct member *m)
{
	session_close(m->session);
	who_done(&m->w.who);
	free(m);
}

/* The keeper is not informed. */
static void forget(struct crowd *c, struct member *m)
{
	if (c->at_work == m)
		c->at_work = NULL;
	c->by_slot[m->slot] = NULL;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->slots[i] == m->slot) {
			c->slots[i] = c->slots[--c->n];
			break;
		}
	if (!member_find(c, m->w.pid)) /* it may be another member's already */
		perf_host_watch(c->host, m->w.pid, false);
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

/* false: it should not be sampled here; it is marked as over. */
static bool identify(struct crowd *c, struct member *m)
{
	const struct watch_how how = {.hz = c->o->hz};
	struct watch_how wanted = how;
	enum watch_status status;

	status = watched_identify(&m->w, session_hosted_jdk(m->session), &how, &wanted);
	m->identified = true;
	if (status == WATCH_LEFT_OUT)
		crowd_report(c, m, CROWD_LEFT_OUT);
	else if (status == WATCH_AGAIN)
		report(c, m, CROWD_ALONE, wanted);
	else
		report(c, m, CROWD_RULE, wanted);
	m->over = !m->w.introduced;
	return m->w.introduced;
}

void member_look(struct crowd *c, struct member *m)
{
	crowd_work_on(c, m);
	if (!who_look(&m->w.who, m->w.pid, m->session))
		identify(c, m);
	crowd_work_on(c, NULL);
}

/* --- steps --- */

/*
 * Frames of virtual threads, and the rest of very deep stacks, have to be read while the thread waits, which takes events
 * of its own. What else makes stacks incomplete, such as code that was freed, is not better there.
 */
static bool is_for_itself(const struct member *m, const struct named_meta *meta, uint64_t cut)
{
	uint64_t bad = meta->frozen + cut,
		 all = meta->frozen + meta->incomplete + meta->complete + meta->resynchronised;
	bool alone = all >= ALONE_MIN && bad * ALONE_SHARE > all;

	if (alone)
		log_info("PID %d gets a process of its own: of %llu stacks, %llu exceed their copies, %llu are in the "
			 "heap",
			 (int)m->w.pid, (unsigned long long)all, (unsigned long long)cut,
			 (unsigned long long)meta->frozen);
	return alone;
}

static void send_samples(struct crowd *c, struct member *m)
{
	struct named_profile *np;
	struct err err = {0};
	bool alone = false;
	int r = session_take(m->session, &np, &err);

	if (r == 0) {
		alone = is_for_itself(m, &np->meta, session_hosted_cut(m->session));
		np->meta.period = m->mixed ? 0 : period_of(c, m->taken ? m->taken : m->divisor);
		m->mixed = false;
		m->taken = 0;
		r = watched_send(&m->w, np, &err);
		named_profile_free(np);
	}
	if (r < 0)
		watched_say_lost(&m->w, r, &err);
	if (alone && !m->over)
		crowd_report(c, m, CROWD_ALONE);
	m->over |= alone;
}

void member_end_step(struct crowd *c, struct member *m)
{
	if (!m->identified) {
		crowd_work_on(c, m);
		if (!identify(c, m))
			return;
	}
	if (!session_take_nothing(
		    m->session)) { /* of hundreds of idle targets, each would be a look at the CPU clock */
		crowd_work_on(c, m);
		send_samples(c, m);
	}
	tell_doubtful(c, m);
}

void member_end(struct crowd *c, struct member *m)
{
	bool was_over = m->over;

	crowd_work_on(c, m);
	session_hosted_end(m->session);
	if (!was_over || m->w.introduced)
		member_end_step(c, m);
	watched_gone(&m->w);
	forget(c, m);
	crowd_work_on(c, NULL);
}

void member_tell_cost(const struct crowd *c, struct member *m)
{
	if (m->cost_ns - m->cost_told_ns < COST_NS)
		return;
	m->cost_told_ns = m->cost_ns;
	crowd_report(c, m, CROWD_COST);
}

/* --- how often they are sampled --- */

static double hz_of(const struct crowd *c, uint32_t divisor)
{
	return (double)c->o->hz / divisor;
}

static void tell_divisor(struct crowd *c, const struct member *m)
{
	char text[100];

	snprintf(text, sizeof(text), "sampled %.3g times per second of CPU time instead of %.3g (%s)",
		 hz_of(c, m->divisor), hz_of(c, m->before), broker_why_text(m->change_why));
	if (m->w.introduced)
		feed_out_event(&c->out, m->slot, FEED_THROTTLE, text);
}

static void change_divisor(struct crowd *c, struct member *m)
{
	m->before = m->divisor;
	m->changed_ns = m->change_ns;
	m->divisor = m->next_divisor;
	m->next_divisor = 0;
	if (m->change_why != BROKER_WHY_RULE)
		tell_divisor(c, m);
}

/*
 * The broker changes the filter at that time, which is in the future, so the samples of before and after can be told
 * apart by their times. This replaces a change that has not taken effect yet, in the broker too.
 */
void member_announce_divisor(struct crowd *c, struct member *m, const struct broker_admission *a)
{
	if (m->next_divisor && m->change_ns <= clock_monotonic_ns())
		change_divisor(c, m);
	m->next_divisor = a->divisor;
	m->change_ns = a->at_ns;
	m->change_why = a->why;
}

uint32_t member_divisor_at(struct crowd *c, struct member *m, uint64_t time_ns)
{
	if (m->next_divisor && time_ns >= m->change_ns)
		change_divisor(c, m);
	return time_ns >= m->changed_ns ? m->divisor : m->before;
}

void member_took(struct member *m, uint32_t divisor)
{
	m->mixed |= m->taken && m->taken != divisor;
	m->taken = divisor;
}

/* --- beginning --- */

void member_admit(struct crowd *c, const struct broker_admission *a)
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
		.divisible = true,
		.since_ns = clock_realtime_ns(),
	};
	watched_begin_steps(&m->w, m->w.since_ns);
	crowd_work_on(c, m);
	r = session_open_hosted(c->hosting, a->pid, &m->session, &err);
	if (r < 0) {
		if (r != -ESRCH)
			log_warn("PID %d is not sampled: %s", (int)a->pid, err.msg);
		crowd_work_on(c, NULL);
		crowd_report(c, m, r == -ESRCH ? CROWD_GONE : CROWD_ALONE);
		member_free(m);
		return;
	}
	(void)who_look(&m->w.who, a->pid, m->session);
	crowd_work_on(c, NULL);
	c->by_slot[a->slot] = m;
	c->slots[c->n++] = a->slot;
	perf_host_watch(c->host, a->pid, true);
}
