#include "sampler/doctor/checks_target.h"

#include <string.h>

#include "sampler/engine/engine.h"
#include "sampler/readers/readers.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

enum { TEST_S = 4, TEST_STACKS = 200, GOOD_PERCENT = 99 };

/* Counts from the short recording. */
struct tally {
	struct checked *t;
	size_t n, java, complete;
	size_t ends[WALK_ENDS];
};

static int32_t ns_tid_of(struct checked *t, pid_t tid)
{
	pid_t ns_tid;

	return proc_ns_tid(t->proc, tid, &ns_tid) == 0 ? ns_tid : 0;
}

static void on_sample(void *ctx, const struct raw_sample *s)
{
	struct tally *y = ctx;
	struct walk w;

	if (!s->has_user || y->n == TEST_STACKS)
		return;
	mem_new_sample(y->t->readers->mem);
	unwinder_walk(y->t->readers->unwinder, s, ns_tid_of(y->t, s->tid), &w);
	y->n++;
	y->java += w.java;
	y->complete += w.end == WALK_ROOT && !w.resynchronised && !w.frozen;
	y->ends[w.end]++;
	if (y->n == TEST_STACKS)
		y->t->engine->ops->stop(y->t->engine);
}

static int sample(struct tally *y, struct err *err)
{
	const struct engine_sink sink = checks_sink(y, on_sample);
	const struct engine_ops *ops = y->t->engine->ops;
	int r = ops->start(y->t->engine, err);

	return r < 0 ? r : ops->run(y->t->engine, &sink, clock_monotonic_ns() + TEST_S * UINT64_C(1000000000), err);
}

static const char *most_frequent_end(const struct tally *y)
{
	int best = WALK_NO_USER;

	for (int e = WALK_NO_USER; e < WALK_ENDS; e++)
		if (y->ends[e] > y->ends[best])
			best = e;
	return y->ends[best] ? walk_end_name((enum walk_end)best) : "crossed a gap";
}

static void say_stacks(const struct tally *y)
{
	struct checks *c = y->t->c;

	if (!y->n) {
		checks_add(c, CHECK_SKIP, "stacks", "it used no CPU time for %d s: nothing to sample", TEST_S);
	} else if (y->complete * 100 >= y->n * GOOD_PERCENT) {
		checks_add(c, CHECK_OK, "stacks", "tried: %zu sampled, %zu complete, %zu with Java frames", y->n,
			   y->complete, y->java);
	} else {
		checks_add(c, CHECK_WARN, "stacks",
			   "tried: %zu sampled, only %zu complete, most others "
			   "ended with: %s",
			   y->n, y->complete, most_frequent_end(y));
		checks_remedy(c, "jsampler snapshot -p %d -o doctor.recording, for a bug report",
			      (int)proc_pid(y->t->proc));
	}
}

/* C2 also writes the additional records if an agent listens to COMPILED_METHOD_LOAD. */
static void say_extra_records(struct checked *t)
{
	uint32_t extra = 0, all = 0;

	for (uint32_t id = 1; t->readers->hs && id <= hs_code_count(t->readers->hs); id++) {
		const struct code *code = hs_code(t->readers->hs, id);

		if (!code)
			continue;
		all += code->tier == TIER_C2 && code->kind == BLOB_NMETHOD;
		extra += code->tier == TIER_C2 && code->kind == BLOB_NMETHOD && code->n_extra_records;
	}
	if (!extra)
		return;
	checks_add(t->c, CHECK_WARN, "extra records",
		   "%u of %u methods seen in C2 code hold records that "
		   "name wrong methods (an agent listens to compiled methods?); jsampler leaves them out",
		   extra, all);
	checks_remedy(t->c, "start the JVM without that agent (profilers, some monitoring agents)");
}

void checks_stacks(struct checked *t)
{
	struct tally y = {.t = t};
	struct err err = {0};

	if (!t->engine)
		return;
	if (sample(&y, &err) < 0 && !y.n) {
		checks_add(t->c, CHECK_FAIL, "stacks", "tried: %s", err.msg);
		checks_remedy(t->c, "sudo jsampler -p %d", (int)proc_pid(t->proc));
		return;
	}
	say_stacks(&y);
	say_extra_records(t);
}
