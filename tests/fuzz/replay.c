#include "tests/fuzz/replay.h"

#include "sampler/profile/named_builder.h"
#include "sampler/recording/recording.h"
#include "sampler/session/session.h"
#include "symbolizer/base/log.h"

static void run(const struct recording *rec)
{
	const struct session_options o = {
		.replay = rec,
		.profile = {.threads = true},
		.engine_options.kernel = true,
		.show.lines = true,
	};
	struct named_profile *np = NULL;
	struct session *s = NULL;

	if (session_open(0, &o, &s, NULL) == 0 && session_start(s, NULL) == 0 && session_run(s, 0, NULL) == 0)
		session_result(s, &np, NULL);
	named_profile_free(np);
	session_close(s);
}

void fuzz_replay(const void *bytes, size_t len)
{
	struct recording *rec;

	log_set_level(LOG_LEVEL_QUIET);
	if (recording_parse(bytes, len, &rec, NULL) < 0)
		return;
	run(rec);
	recording_close(rec);
}
