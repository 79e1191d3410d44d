#include "sampler/daemon/watch/watched.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/watch/feed_out.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/writer.h"
#include "sampler/store/store.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

#define SECOND_NS UINT64_C(1000000000)
#define STEP_NS (STORE_STEP_S * SECOND_NS)

enum { ENDS = 10 }; /* of steps, within a second */

/* --- who it is --- */

/* Labels of the rule come first: the reader takes the first of each key. */
static void introduce(struct watched *w, const struct rule_choice *c)
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
	w->introduced = feed_out_add(w->out, &(struct feed_message){
						     .kind = FEED_TARGET,
						     .target = w->number,
						     .boot_id = w->boot_id,
						     .pid = w->pid,
						     .start_ticks = w->start_ticks,
						     .since_ns = w->since_ns,
						     .labels = labels,
						     .n_labels = n,
					     }) == 0;
}

static bool can_be(const struct watched *w, const struct watch_how *how, const struct watch_how *wanted)
{
	bool hz = w->divisible ? wanted->hz <= how->hz : wanted->hz == how->hz;

	return how->wall || (hz && wanted->suspend == how->suspend);
}

enum watch_status watched_identify(struct watched *w, const char *jdk, const struct watch_how *how,
				   struct watch_how *ret)
{
	struct identity_facts f = {.pid = w->pid, .host = w->host, .user = w->user, .jdk = jdk};
	struct rule_choice c;

	who_facts(&w->who, &f);
	identity_find(&f, &w->identity);
	c = rules_choose(w->rules, w->identity.labels, w->identity.n);
	if (c.leave_out || (how && how->wall && !c.wall))
		return WATCH_LEFT_OUT;
	if (how) {
		*ret = (struct watch_how){.hz = c.frequency ? c.frequency : how->hz, .suspend = c.suspend};
		if (!can_be(w, how, ret))
			return WATCH_AGAIN;
		ret->wall = c.wall; /* with the right frequency only */
	}
	introduce(w, &c);
	return WATCH_ENDED;
}

/* --- steps --- */

int watched_send(struct watched *w, const struct named_profile *np, struct err *err)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	size_t len = 0;
	FILE *f;
	int r;

	if (!w->introduced || !np->n_samples)
		return 0;
	f = open_memstream(&bytes, &len);
	r = f ? writer_pprof_plain.write(np, &(struct writer_options){0}, f, err) : -ENOMEM;
	if (f && fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	return r < 0 ? r :
		       feed_out_add(w->out, &(struct feed_message){.kind = FEED_PROFILE,
								   .target = w->number,
								   .profile = bytes,
								   .profile_len = len});
}

void watched_gone(struct watched *w)
{
	if (w->introduced)
		feed_out_add(w->out, &(struct feed_message){.kind = FEED_GONE, .target = w->number});
	w->introduced = false;
}

void watched_say_lost(const struct watched *w, int r, const struct err *err)
{
	log_warn("PID %d: a step is lost: %s", (int)w->pid, err->msg[0] ? err->msg : strerror(-r));
}

/*
 * Spreads the ends of steps, so that targets do not all end theirs at the same moment, but few enough moments that
 * hundreds of idle targets do not wake this process for each of them.
 */
void watched_begin_steps(struct watched *w, uint64_t now_ns)
{
	uint64_t late = (uint64_t)w->pid % ENDS * (SECOND_NS / ENDS);

	w->next_ns = (now_ns / STEP_NS + 1) * STEP_NS + late;
}

bool watched_step_over(struct watched *w, uint64_t now_ns)
{
	bool over = now_ns >= w->next_ns || w->next_ns - now_ns > 2 * STEP_NS; /* or the clock was set back */

	if (over)
		watched_begin_steps(w, now_ns);
	return over && w->who.over; /* what was sampled before that is part of the first step after it */
}
