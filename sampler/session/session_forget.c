#include "sampler/session/session_private.h"

#include <inttypes.h>

#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/forget.h"
#include "symbolizer/hotspot/hotspot.h"

/*
 * Copies of code and methods that are in no stack and no longer in the JVM are freed. Those that
 * only stacks still need count towards --max-memory, and so leave less room for new stacks. A
 * recording keeps all copies: it holds the code of one moment.
 */
void session_forget(struct session *s)
{
	struct hotspot *hs = s->readers->hs;
	struct hotspot_stats stats;

	if (!hs || !s->proc || s->o.snapshot || !hotspot_forget_due(hs))
		return;
	hotspot_forget_begin(hs);
	for (size_t i = 0, n = profile_frame_count(s->profile); i < n; i++)
		readers_keep_frame(hs, profile_frame(s->profile, (uint32_t)i));
	parts_call(&s->parts, keep, hs);
	hotspot_forget_end(hs);
	parts_call(&s->parts, forgotten, hs);
	profile_set_elsewhere(s->profile, hotspot_kept_bytes(hs));
	stats = hotspot_stats(hs);
	log_debug("copies of code and methods: %" PRIu64 " bytes, %" PRIu64 " of them only for names; "
		  "%" PRIu64 " of %" PRIu64 " codes and %" PRIu64 " of %" PRIu64 " methods forgotten",
		  stats.bytes, hotspot_kept_bytes(hs), stats.forgotten_codes, stats.codes, stats.forgotten_methods,
		  stats.methods);
}
