#include "sampler/session/session_private.h"

#include <inttypes.h>

#include "sampler/session/compile_watch.h"
#include "sampler/session/wall.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/forget.h"
#include "symbolizer/hotspot/hotspot.h"

static void keep_frame(void *ctx, const struct frame_key *k)
{
	struct hotspot *hs = ctx;

	if (k->kind == FRAME_COMPILED || k->kind == FRAME_STUB)
		hotspot_keep_code(hs, k->id);
	else if (k->kind == FRAME_INTERPRETED)
		hotspot_keep_method(hs, k->id);
}

/*
 * Copies of code and methods that are in no stack and no longer in the JVM are of no use. Those that are in
 * stacks, and only there, take their room from new stacks: all that is kept lies under --max-memory. A recording
 * is of one moment's code.
 */
void session_forget(struct session *s)
{
	struct hotspot *hs = s->view->hs;
	struct hotspot_stats stats;

	if (!hs || !s->proc || s->o.snapshot || !hotspot_forget_due(hs))
		return;
	hotspot_forget_begin(hs);
	for (size_t i = 0, n = profile_frame_count(s->profile); i < n; i++)
		keep_frame(hs, profile_frame(s->profile, (uint32_t)i));
	if (s->wall)
		wall_frames(s->wall, keep_frame, hs);
	if (s->view->attribution)
		attribution_keep(s->view->attribution, hs);
	hotspot_forget_end(hs);
	if (s->compiles)
		compile_watch_forget(s->compiles, hs);
	profile_set_elsewhere(s->profile, hotspot_kept_bytes(hs));
	stats = hotspot_stats(hs);
	log_debug("copies of code and methods: %" PRIu64 " bytes, %" PRIu64 " of them only for names; "
		  "%" PRIu64 " of %" PRIu64 " codes and %" PRIu64 " of %" PRIu64 " methods forgotten",
		  stats.bytes, hotspot_kept_bytes(hs), stats.forgotten_codes, stats.codes,
		  stats.forgotten_methods, stats.methods);
}
