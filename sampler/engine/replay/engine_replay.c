#include "sampler/engine/replay/engine_replay.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sampler/recording/recording.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/mem.h"

struct replay {
	struct engine engine;
	const struct recording *rec;
	struct mem *pages;
	size_t next; /* next sample; its memory is in `pages` already */
	atomic_bool stop;
	struct engine_stats stats;
};

static struct replay *replay_of(struct engine *e)
{
	return (struct replay *)e;
}

static int add_span(void *ctx, const struct recording_span *span)
{
	return mem_pages_add(ctx, span->addr, span->bytes, span->len);
}

static int replay_start(struct engine *e, struct err *err)
{
	(void)e;
	(void)err;
	return 0;
}

static int replay_run(struct engine *e, const struct engine_sink *sink, uint64_t deadline_ns, struct err *err)
{
	struct replay *r = replay_of(e);
	int failed = 0;

	(void)deadline_ns;
	while (failed >= 0 && !atomic_load(&r->stop) && r->next < recording_sample_count(r->rec)) {
		const struct raw_sample *s = recording_sample(r->rec, r->next++);

		if (s) {
			r->stats.samples++;
			sink->sample(sink->ctx, s);
		}
		failed = recording_each_span(r->rec, r->next, add_span, r->pages);
	}
	return failed < 0 ? err_set(err, failed, "out of memory while replaying") : 0;
}

static void replay_stop(struct engine *e)
{
	atomic_store(&replay_of(e)->stop, true);
}

static struct engine_stats replay_stats(const struct engine *e)
{
	return ((const struct replay *)e)->stats;
}

static bool replay_target_ended(const struct engine *e)
{
	(void)e;
	return false;
}

static void replay_close(struct engine *e)
{
	free(replay_of(e));
}

static const struct engine_ops replay_ops = {
	.name = "replay",
	.start = replay_start,
	.run = replay_run,
	.stop = replay_stop,
	.stats = replay_stats,
	.target_ended = replay_target_ended,
	.close = replay_close,
};

struct engine *engine_replay_new(const struct recording *rec, struct mem *pages)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->engine.ops = &replay_ops;
	r->rec = rec;
	r->pages = pages;
	r->stats.attachment = "recording";
	if (recording_each_span(rec, 0, add_span, pages) == 0)
		return &r->engine;
	free(r);
	return NULL;
}
