#ifndef JS_ENGINE_ENGINE_PERF_H
#define JS_ENGINE_ENGINE_PERF_H

#include "sampler/engine/engine.h"
#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/perf_drain.h"

/* For measurements and tests: with the mode that engine_perf_ops would choose by itself. */
int engine_perf_open(struct proc *proc, const struct engine_options *o, enum perf_attach_mode mode, struct engine **ret,
		     struct err *err);
struct perf_drain_stats engine_perf_drain_stats(const struct engine *e);

#endif
