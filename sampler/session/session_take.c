#include "sampler/session/session_private.h"

#include <errno.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/meta.h"
#include "sampler/session/parts/threads.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

struct profile *session_new_profile(const struct session *s)
{
	struct profile *p = profile_new(s->o.profile);

	if (p)
		profile_slices(p, profile_slice_ns(s->profile), s->sliced_from_ns);
	return p;
}

void session_replace_profile(struct session *s, struct profile *fresh)
{
	struct profile_totals t = profile_totals(s->profile);

	t.truncated += s->named_cut;
	s->named_cut = 0;
	profile_totals_add(&s->old_totals, &t);
	profile_free(s->profile);
	s->profile = fresh;
}

/* Of the samples since the last time. */
static void fill_meta(const struct session *s, struct named_builder *b, const struct session_summary *now)
{
	const struct session_taken *last = &s->taken;
	struct session_summary sum = *now;
	uint64_t from_ns = last->ns ? last->ns : s->started_ns;

	sum.totals.samples -= last->totals.samples;
	sum.totals.complete -= last->totals.complete;
	sum.totals.resynchronised -= last->totals.resynchronised;
	sum.totals.frozen -= last->totals.frozen;
	sum.engine.lost -= last->lost;
	sum.elapsed_ns = s->started_ns + now->elapsed_ns - from_ns;
	meta_fill(b, &s->o, &sum, s->command, s->jdk);
	named_builder_meta(b)->start_realtime_ns = last->ns ? last->realtime_ns : s->start_realtime_ns;
}

/* What was counted, and what was named before an execve(2) already. Most steps of an idle JVM have no samples. */
static int name_all(struct session *s, struct named_builder *b)
{
	int r = profile_sample_count(s->profile) ? session_name_view(s, b, s->o.show.process_root) : 0;

	for (size_t i = 0; r == 0 && i < s->epochs.n; i++)
		r = session_add_named(b, s->epochs.v[i]);
	return r;
}

/* One hundredth of the time that has passed is for following code, and as much for other names. */
static void grant_time(const struct session *s, uint64_t now_ns)
{
	uint64_t from_ns = s->taken.ns ? s->taken.ns : s->started_ns;
	uint64_t ns = (now_ns - from_ns) / 100;

	if (s->readers->attribution)
		attribution_grant(s->readers->attribution, ns);
	budget_grant(s->files, ns, READERS_FILES_NS);
}

static void begin_next_step(struct session *s, uint64_t now_ns, uint64_t realtime_ns)
{
	grant_time(s, now_ns);
	s->taken.ns = now_ns;
	s->taken.realtime_ns = realtime_ns;
	s->sliced_from_ns = 0; /* from now on */
}

static void begin_next_profile(struct session *s, struct profile *fresh, const struct session_summary *now)
{
	s->taken.lost = now->engine.lost;
	s->taken.totals = now->totals;
	for (size_t i = 0; i < s->epochs.n; i++)
		named_profile_free(s->epochs.v[i]);
	s->epochs.n = 0;
	parts_call(&s->parts, renewed, s->profile, fresh);
	session_replace_profile(s, fresh);
	s->taken.named_threads = profile_named_threads(fresh);
}

int session_take(struct session *s, struct named_profile **ret, struct err *err)
{
	const struct session_summary now = session_summary(s);
	const uint64_t realtime_ns = clock_realtime_ns();
	struct named_builder *b = named_builder_new();
	struct profile *fresh = session_new_profile(s);
	struct named_profile *np = NULL;

	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(s->profile);
	if (b && fresh && name_all(s, b) == 0) {
		fill_meta(s, b, &now);
		np = named_builder_take(b);
		b = NULL;
	}
	named_builder_free(b);
	if (!np) {
		profile_free(fresh);
		return err_set(err, -ENOMEM, "out of memory while naming the stacks");
	}
	begin_next_profile(s, fresh, &now);
	begin_next_step(s, s->started_ns + now.elapsed_ns, realtime_ns);
	*ret = np;
	return 0;
}

/* Names of threads that have ended stay in a profile until the next one begins, also for others that get their TIDs. */
static bool has_names_to_leave(const struct session *s)
{
	return profile_named_threads(s->profile) != s->taken.named_threads || threads_some_ended(s->threads);
}

bool session_take_nothing(struct session *s)
{
	if (profile_sample_count(s->profile) || s->epochs.n || has_names_to_leave(s))
		return false;
	begin_next_step(s, s->ended_ns ? s->ended_ns : clock_monotonic_ns(), clock_realtime_ns());
	return true;
}
