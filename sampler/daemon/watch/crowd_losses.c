#include "sampler/daemon/watch/crowd_losses.h"

#include <stdio.h>

#include "sampler/daemon/watch/crowd_members.h"
#include "sampler/session/session_hosted.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/log.h"

#define SAY_NS UINT64_C(10000000000) /* between two messages about the same kind of loss */
#define CHECK_NS UINT64_C(5000000000) /* between two looks at all members; each look takes some us for each */

static struct crowd_lost lost_so_far(const struct crowd *c)
{
	struct perf_host_stats s = perf_host_stats(c->host);

	return (struct crowd_lost){
		.samples = s.lost_ring + s.lost_queue,
		.records = s.lost_records + s.malformed,
		.ended = s.ended,
		.late = s.foreign + c->late,
	};
}

static struct crowd_lost since(const struct crowd_lost *now, const struct crowd_lost *before)
{
	return (struct crowd_lost){
		.samples = now->samples - before->samples,
		.records = now->records - before->records,
		.ended = now->ended - before->ended,
		.late = now->late - before->late,
	};
}

static bool any(const struct crowd_lost *l)
{
	return l->samples || l->records || l->ended || l->late;
}

static void report(struct crowd *c, const struct crowd_lost *now)
{
	const struct crowd_report r = {.what = CROWD_LOST, .lost = since(now, &c->losses.reported)};

	if (any(&r.lost) && channel_send(c->o->report, &r, sizeof(r), -1) == 0)
		c->losses.reported = *now;
}

/* Only lost samples are a gap: the others are few, or no samples. */
static void say(struct crowd *c, const struct crowd_lost *now, uint64_t now_ns)
{
	const struct crowd_lost l = since(now, &c->losses.said);
	char text[100];

	if (now_ns < c->losses.say_ns || !any(&l))
		return;
	snprintf(text, sizeof(text), "%llu samples were lost, of all programs together", (unsigned long long)l.samples);
	if (l.samples && feed_out_event(&c->out, FEED_TARGETS_MAX, FEED_GAP, text) < 0)
		return;
	if (l.samples)
		log_warn("%s", text);
	if (l.records)
		log_warn("%llu records of new names, ended threads, executed programs and mapped files were lost; what "
			 "they said is looked for",
			 (unsigned long long)l.records);
	if (l.ended)
		log_info(
			"%llu samples were of threads that had just ended, and the kernel did not say of which program",
			(unsigned long long)l.ended);
	if (l.late)
		log_info("%llu samples were read when their program had ended or was not sampled any more",
			 (unsigned long long)l.late);
	c->losses.said = *now;
	c->losses.say_ns = now_ns + SAY_NS;
}

static void check(struct crowd *c, struct member *m)
{
	bool same;

	crowd_work_on(c, m);
	same = session_hosted_check(m->session);
	crowd_work_on(c, NULL);
	if (same)
		return;
	log_info("PID %d has executed another program, and the record of that was lost", (int)m->w.pid);
	crowd_report(c, m, CROWD_EXEC);
	member_end(c, m);
}

static void check_all(struct crowd *c, uint64_t records, uint64_t now_ns)
{
	if (records == c->losses.checked || now_ns < c->losses.check_ns)
		return;
	c->losses.checked = records;
	c->losses.check_ns = now_ns + CHECK_NS;
	for (uint32_t i = c->n; i-- > 0;)
		check(c, c->by_slot[c->slots[i]]);
}

void crowd_losses_turn(struct crowd *c, uint64_t now_ns)
{
	const struct crowd_lost now = lost_so_far(c);

	report(c, &now);
	say(c, &now, now_ns);
	check_all(c, now.records, now_ns);
}

void crowd_losses_end(struct crowd *c)
{
	const struct crowd_lost now = lost_so_far(c);

	report(c, &now);
	say(c, &now, UINT64_MAX);
}
