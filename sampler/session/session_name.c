#include "sampler/session/session_private.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_slices.h"
#include "sampler/recording/recording_writer.h"
#include "sampler/resolve/resolver.h"
#include "sampler/session/children.h"
#include "sampler/session/meta.h"
#include "sampler/session/parts/threads.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/native/names/perfmap.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/target_file.h"

static void perfmap_close_at_exit(struct perfmap **p)
{
	perfmap_close(*p);
}

/* Only frames outside of files and of the JVM's code are named after the perf map. Opening it takes an answer of the broker. */
static bool wants_perfmap(const struct profile *p)
{
	for (size_t i = 0, n = profile_frame_count(p); i < n; i++)
		if (profile_frame(p, (uint32_t)i)->kind == FRAME_ANON)
			return true;
	return false;
}

/* Names what was counted with the present readers. */
int session_name_view(struct session *s, struct named_builder *b, bool process_root)
{
	CLEANUP(perfmap_close_at_exit) struct perfmap *perfmap = NULL;
	struct resolver_sources sources = {
		.maps = s->readers->modmap,
		.files = s->files,
		.demangled = readers_demangled(s->readers),
		.program = s->program,
		.hs = s->readers->hs,
		.attribution = s->readers->attribution,
	};
	struct resolver_options o = {
		.show = s->o.show,
		.states = s->wall != NULL,
		.process_name = s->comm,
		.ends = &(s->owner ? s->owner : s)->naming_ends,
		.depth = s->o.profile.depth ? s->o.profile.depth : PROFILE_DEPTH,
		.cut = &s->named_cut,
	};
	uint64_t unnamed = 0;
	struct err e = {0};
	int r;

	o.show.process_root = process_root;
	s->named_cut = 0;
	sources.kernel = (s->owner ? s->owner : s)->kallsyms;
	parts_call(&s->parts, name, s->profile, &sources);
	r = s->proc && wants_perfmap(s->profile) ? perfmap_open(s->proc, s->files, &perfmap, &e) : -ENOENT;
	if (r == 0)
		sources.perfmap = perfmap;
	else if (r != -ENOENT && r != -ESRCH)
		log_info("%s", e.msg);
	if (r == -EFBIG || r == -ETIME || target_file_why_far(r))
		budget_refuse(s->files, 0, "names of code compiled at run time, %s", e.msg);
	r = resolver_name(s->profile, &sources, &o, b, &unnamed);
	if (s->readers->attribution && attribution_refused(s->readers->attribution))
		log_warn("%" PRIu64 " distinct frames of compiled code are named by the nearest debug record "
			 "only: following the flow of this program's code takes too long",
			 attribution_refused(s->readers->attribution));
	if (unnamed)
		log_warn("naming was ended by a signal: %" PRIu64 " distinct frames have no name, or only that "
			 "of their file",
			 unnamed);
	return r;
}

void session_end_naming(struct session *s)
{
	atomic_store(&s->naming_ends, true);
	budget_cancel(s->files);
	if (deputy())
		deputy()->hurry(deputy()->ctx);
}

int session_add_named(struct named_builder *b, struct named_profile *np)
{
	struct named_meta *m = named_builder_meta(b);

	named_slices_widen(np, m->slice_ns); /* slices may have become wider since */
	named_meta_add_counts(m, &np->meta);
	return named_builder_add(b, np);
}

int session_merge_named(named_profiles *all, uint64_t slice_ns)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np;
	int r = b ? 0 : -ENOMEM;

	if (b)
		named_builder_meta(b)->slice_ns = slice_ns;
	for (size_t i = 0; r == 0 && i < all->n; i++)
		r = session_add_named(b, all->v[i]);
	if (r < 0)
		named_builder_free(b);
	np = r == 0 ? named_builder_take(b) : NULL;
	if (!np)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++)
		named_profile_free(all->v[i]);
	all->v[0] = np;
	all->n = 1;
	return 0;
}

static void say_slices(const struct session *s)
{
	uint64_t ns = profile_slice_ns(s->profile);

	if (s->o.slice_ns && ns > s->o.slice_ns)
		log_warn("time slices are %g s wide: narrower ones would take too much memory", (double)ns / 1e9);
}

/*
 * Process roots tell processes apart: they are needed only if child processes have samples.
 * Profiles from before the last execve() have them in case they are needed.
 */
static void settle_process_root(struct session *s)
{
	if (!s->children || s->o.show.process_root)
		return;
	s->o.show.process_root = children_sampled(s->children) > 0;
	for (size_t i = 0; i < s->epochs.n && !s->o.show.process_root; i++)
		named_profile_drop_process_root(s->epochs.v[i]);
}

int session_result(struct session *s, struct named_profile **ret, struct err *err)
{
	struct named_builder *b = named_builder_new();
	struct named_profile *np = NULL;
	int r;

	settle_process_root(s);
	threads_name_rest(s->threads, s->readers->hs, s->profile);
	profile_close(s->profile);
	malloc_trim(0); /* memory in another thread's arena is of no use to naming */
	say_slices(s);
	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(s->profile);
	r = b ? session_name_view(s, b, s->o.show.process_root) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->epochs.n; i++)
		r = session_add_named(b, s->epochs.v[i]);
	if (r == 0 && s->children)
		r = children_add_results(s->children, b, err);
	if (r == 0) {
		struct session_summary sum = session_summary(s);

		meta_fill(b, &s->o, &sum, s->command, s->jdk);
		named_builder_meta(b)->start_realtime_ns = s->start_realtime_ns;
		np = named_builder_take(b);
		b = NULL;
	}
	named_builder_free(b);
	if (!np)
		return err_set(err, -ENOMEM, "out of memory while naming the stacks");
	*ret = np;
	return 0;
}

/* Includes threads that have ended: they have samples. */
static void note_threads(struct session *s)
{
	const struct recording_tid *t;
	size_t n = recording_writer_tids(s->o.snapshot, &t);

	for (size_t i = 0; i < n; i++) {
		const char *name = profile_thread_name(s->profile, s->pid, t[i].tid);

		recording_writer_thread(s->o.snapshot, t[i].tid, t[i].ns_tid, name ? name : "");
	}
}

int session_write_snapshot(struct session *s, FILE *out, struct err *err)
{
	struct recording_facts f = {.pid = s->pid, .period = s->o.engine_options.period};
	size_t len;
	const char *maps = maps_text(s->readers->maps, &len);

	snprintf(f.event, sizeof(f.event), "%s", "cpu");
	snprintf(f.comm, sizeof(f.comm), "%s", s->comm);
	snprintf(f.command, sizeof(f.command), "%.1000s", s->command);
	note_threads(s);
	return recording_writer_finish(s->o.snapshot, &f, maps, len, out, err);
}
