/*
 * What the process says that samples targets together. It is not trusted: it may be taken over. What it says about a
 * target counts only while it samples that one; about other processes, it can only cause looks at them.
 */
#include "sampler/daemon/governor/governor.h"
#include "sampler/daemon/host/target.h"
#include "sampler/daemon/rules/rules.h"
#include "symbolizer/base/clock.h"

static struct target *of_slot(const struct targets *t, const struct crowd_report *r)
{
	struct target *one = targets_joined(t, r->slot);

	return one && one->who.pid == r->pid ? one : NULL;
}

static bool is_by_rule(uint32_t what)
{
	return what == CROWD_LEFT_OUT || what == CROWD_ALONE || what == CROWD_RULE;
}

/* hz 0: it is not a rule that wants this. */
static void take_alone(const struct targets *t, struct target *one, const struct crowd_report *r)
{
	if (r->hz)
		one->alone_by_rule = true;
	else
		one->alone = true;
	targets_take_how(t, one, r->hz, r->suspend);
}

static void take_rule(struct targets *t, struct target *one, const struct crowd_report *r)
{
	if (r->wall)
		one->waits = rules_wall(t->rules);
	targets_take_hz(t, one, r->hz);
}

static void take_losses(struct targets *t, const struct crowd_lost *l)
{
	t->lost.samples += l->samples;
	t->lost.records += l->records;
	t->lost.ended += l->ended;
	t->lost.late += l->late;
	if (l->records)
		t->again(t->ctx, 0, true);
}

/* It is not sampled together with others any more. */
static void take_parting(struct targets *t, struct target *one, const struct crowd_report *r)
{
	targets_leave(t, one);
	switch (r->what) {
	case CROWD_LEFT_OUT: one->left_out = true; break;
	case CROWD_ALONE: take_alone(t, one, r); break;
	case CROWD_EXEC: one->replaced = true; break;
	default: one->cpu.again_ns = clock_monotonic_ns() + RESTART_FIRST_NS; /* it has ended, or is about to */
	}
}

static void take_of_target(struct targets *t, struct target *one, const struct crowd_report *r)
{
	if (r->what == CROWD_COST) {
		if (t->governor)
			governor_cost(t->governor, one->slot, r->cpu_ns);
		return;
	}
	if (t->joint.ending && is_by_rule(r->what)) /* and the rules may have changed */
		return;
	if (r->what == CROWD_RULE)
		take_rule(t, one, r);
	else
		take_parting(t, one, r);
}

static void take_report(struct targets *t, const struct crowd_report *r)
{
	struct target *one = of_slot(t, r);

	if (r->what == CROWD_MAPPED)
		t->again(t->ctx, r->pid, true);
	else if (r->what == CROWD_LOST)
		take_losses(t, &r->lost);
	else if (one)
		take_of_target(t, one, r);
}

void targets_take_reports(struct targets *t)
{
	struct crowd_report r;

	while (joint_report(&t->joint, &r))
		take_report(t, &r);
}
