#include "sampler/session/session_private.h"

#include <errno.h>
#include <inttypes.h>

#include "sampler/resolve/resolver.h"
#include "sampler/session/bridge/gone_code.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

static void before_walk(void *session)
{
	struct session *s = session;

	if (s->gone_code)
		gone_code_prepare(s->gone_code);
}

static void walked(void *session, struct sampled *x)
{
	struct session *s = session;

	if (s->gone_code)
		gone_code_note(s->gone_code, x->walk, x->raw->time_ns);
}

static void name(void *session, const struct profile *p, struct resolver_sources *sources)
{
	struct session *s = session;

	(void)p;
	if (!s->gone_code || !(sources->timeline = bridge_timeline(s->bridge)))
		return;
	gone_code_finish(s->gone_code);
	sources->timeline_code = gone_code_code;
	sources->timeline_ctx = s->gone_code;
}

/* A bridge that has not been used yet serves the JVM that may start now. */
static void exec(void *session)
{
	struct session *s = session;

	if (s->gone_code)
		bridge_close(take_ptr(s->bridge));
	gone_code_free(take_ptr(s->gone_code));
}

static void ended(void *session)
{
	struct session *s = session;

	bridge_finish(s->bridge, &s->stopped);
	if (s->gone_code)
		log_info("bridge: found by time: %" PRIu64 " compiled frames, %" PRIu64 " interpreted",
			 gone_code_stats(s->gone_code).gone, gone_code_stats(s->gone_code).gone_methods);
	else if (s->bridge && s->o.bridge == BRIDGE_ON)
		log_warn("--bridge on: not used, no JVM was found");
}

static void close_part(void *session)
{
	struct session *s = session;

	gone_code_free(s->gone_code);
	bridge_close(s->bridge);
}

static const struct part_ops bridge_part = {
	.before_walk = before_walk,
	.walked = walked,
	.name = name,
	.exec = exec,
	.ended = ended,
	.close = close_part,
};

int session_open_bridge(struct session *s, struct err *err)
{
	int r;

	if (!s->proc || s->o.snapshot)
		return 0;
	r = bridge_open(s->proc, s->readers->maps, s->o.bridge, s->files, &s->bridge, err);
	if (r == 0 && s->bridge)
		parts_add(&s->parts, &bridge_part, s);
	else if (r == 0 && s->o.show.bridge_symbols)
		return err_set(err, -ENOENT,
			       "--symbols bridge: the bridge is not loaded in process %d: add "
			       "--bridge on",
			       (int)s->pid);
	return r;
}

int session_use_bridge(struct session *s, bool wait, struct err *err)
{
	if (!s->bridge || s->readers->jvm != JVM_READY)
		return 0;
	if (!s->gone_code)
		s->gone_code = gone_code_new(s->bridge, s->readers->hs);
	if (!s->gone_code)
		return err_set(err, -ENOMEM, "out of memory");
	return bridge_connect(s->bridge, s->readers->hs, wait, err);
}
