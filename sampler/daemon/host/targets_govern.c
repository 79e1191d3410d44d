/* How often the targets that are sampled together are sampled. */
#include "sampler/daemon/config/config_keys.h"
#include "sampler/daemon/governor/governor.h"
#include "sampler/daemon/host/target.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"

enum { FLOOR_HZ = 5 }; /* cpu_limit or not */

static struct governor *make(struct targets *t)
{
	const struct governor_options o = {.base_hz = t->hz, .floor_hz = FLOOR_HZ, .cpu_limit = t->cpu_limit};

	if (!t->governor)
		t->governor = governor_new(&o);
	return t->governor;
}

uint32_t targets_begin_govern(struct targets *t, const struct target *one)
{
	struct governor *g = make(t);
	uint32_t divisor = g ? governor_add(g, one->slot, one->how.hz) : 0;

	return divisor ? divisor : governor_divisor(t->hz, one->how.hz);
}

void targets_ungovern(struct targets *t, const struct target *one)
{
	if (t->governor)
		governor_remove(t->governor, one->slot);
}

/* --- changes --- */

/* There may be several for one target. */
static void note_change(void *ctx, const struct governor_change *c)
{
	struct target *one = targets_joined(ctx, c->target);

	if (!one)
		return;
	one->next = c->to;
	one->why = c->lost ? BROKER_WHY_LOST : BROKER_WHY_CPU;
}

static double hz_of(const struct targets *t, uint32_t divisor)
{
	return (double)t->hz / divisor;
}

static void say_change(const struct targets *t, const struct target *one)
{
	if (one->why == BROKER_WHY_RULE)
		log_info("PID %d: for %u Hz, as a rule wants, one in %u samples of %u Hz is taken: %.3g Hz",
			 (int)one->who.pid, (unsigned)one->how.hz, (unsigned)one->next, (unsigned)t->hz,
			 hz_of(t, one->next));
	else
		log_info("PID %d: %.3g samples per second of CPU time are taken instead of %.3g (%s)",
			 (int)one->who.pid, hz_of(t, one->next), hz_of(t, one->divisor), broker_why_text(one->why));
}

/* Once for each target: a change that is announced replaces one that does not hold yet. */
void targets_announce(struct targets *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct target *one = &t->list[i];

		if (!one->joined || one->next == one->divisor ||
		    !joint_divide(&t->joint, one->who.pid, one->who.start_ticks, (uint32_t)one->slot, one->next,
				  one->why))
			continue;
		say_change(t, one);
		one->divisor = one->next;
	}
}

void targets_take_hz(struct targets *t, struct target *one, uint32_t hz)
{
	uint32_t next;

	if (hz < CONFIG_RULE_HZ_MIN || hz > t->hz || hz == one->how.hz)
		return;
	one->how.hz = hz;
	next = t->governor ? governor_want(t->governor, one->slot, hz) : 0;
	if (!next)
		next = governor_divisor(t->hz, hz);
	if (next != one->divisor)
		one->why = BROKER_WHY_RULE;
	one->next = next;
}

void targets_govern(struct targets *t, uint64_t own_cpu_ns)
{
	bool was = t->governor && governor_state(t->governor).helpless;

	if (!t->governor)
		return;
	governor_step(t->governor, clock_monotonic_ns(), own_cpu_ns, t->lost.samples, note_change, t);
	if (!was && governor_state(t->governor).helpless)
		log_warn(
			"the daemon takes more CPU time than cpu_limit allows, although JVMs are sampled only %d times "
			"a second",
			FLOOR_HZ);
}

void targets_numbers(const struct targets *t, struct daemon_numbers *ret)
{
	const struct governor_state s = t->governor ? governor_state(t->governor) : (struct governor_state){0};

	*ret = (struct daemon_numbers){
		.lowered = s.lowered,
		.starved = s.starved,
		.own_cpu = s.own_cpu,
		.cpu_limit = t->cpu_limit,
		.helpless = s.helpless,
		.lost_samples = t->lost.samples,
		.lost_records = t->lost.records,
		.ended_samples = t->lost.ended,
		.late_samples = t->lost.late,
	};
	for (size_t i = 0; i < t->n; i++) {
		const struct target *one = &t->list[i];
		bool sampled = one->joined || one->cpu.pid;

		ret->jvms += sampled;
		ret->slower += sampled && one->how.hz < t->hz;
	}
}

bool targets_govern_due(const struct targets *t)
{
	return t->governor && governor_state(t->governor).targets &&
	       governor_is_due(t->governor, clock_monotonic_ns(), t->lost.samples);
}
