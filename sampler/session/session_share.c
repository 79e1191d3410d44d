#include "sampler/session/session_share.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

static int share(struct session_options *o, struct err *err)
{
	struct engine_options engine = o->engine_options;

	if (o->engine && o->engine != &engine_perf_ops)
		return err_set(err, -EOPNOTSUPP, "threads are stopped one by one");
	engine.follow = o->follow;
	return engine_perf_ops.share(&engine, &o->engine_options.shared, err);
}

void session_share_events(struct session_options *o, size_t sessions)
{
	struct err why = {0};

	if (sessions < 2 || (o->engine_options.event && strcmp(o->engine_options.event, "wall") == 0))
		return;
	if (share(o, &why) < 0)
		log_info("events for each of %zu targets: %s", sessions, why.msg);
	else
		log_info("one set of events on CPUs for %zu targets, while they need no others", sessions);
}

void session_unshare_events(struct session_options *o)
{
	engine_perf_ops.unshare(o->engine_options.shared);
	o->engine_options.shared = NULL;
}
