#include "sampler/session/session_private.h"

#include <errno.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/session/by_time.h"
#include "sampler/session/compile_watch.h"
#include "sampler/session/heap_frames.h"
#include "sampler/session/threads.h"
#include "sampler/session/unsampled.h"
#include "sampler/session/wall.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/* A program that calls execve() all the time would have memory grow without end: the same frames in each profile. */
enum { EPOCHS_MAX = 16 };

/* The address space is about to be another one: keep what was seen in the old one, by name. */
static int close_epoch(struct session *s, struct err *err)
{
	struct named_builder *b = named_builder_new();
	struct profile *fresh = profile_new(s->o.profile);
	struct profile_totals t = profile_totals(s->profile);
	struct named_profile *np;

	session_read_kallsyms(s);
	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(s->profile);
	if (fresh)
		profile_slices(fresh, profile_slice_ns(s->profile), s->sliced_from_ns);
	s->naming_epoch = s->children != NULL;
	if (!b || !fresh || session_name_view(s, b) < 0 || !(np = named_builder_take(b))) {
		profile_free(fresh);
		named_builder_free(b);
		s->naming_epoch = false;
		return err_set(err, -ENOMEM, "out of memory");
	}
	s->naming_epoch = false;
	if (!vec_push(&s->epochs, np)) {
		named_profile_free(np);
		profile_free(fresh);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (s->epochs.n >= EPOCHS_MAX && session_merge_epochs(s) < 0)
		log_warn("out of memory for what was sampled in programs that called execve");
	t.truncated += s->named_cut;
	s->named_cut = 0;
	profile_totals_add(&s->old_totals, &t);
	profile_free(s->profile);
	s->profile = fresh;
	if (s->unsampled)
		unsampled_new_profile(s->unsampled);
	compile_watch_free(s->compiles);
	s->compiles = NULL;
	return 0;
}

void session_on_exec(void *ctx, pid_t pid)
{
	struct session *s = ctx;
	struct view *fresh = NULL;
	struct err e = {0};
	int r;

	if (!s->proc || pid != s->pid)
		return;
	s->gone_since_ns = 0;
	s->before_exec = false;
	if (s->o.snapshot) { /* a recording is of one address space */
		session_stop(s);
		return;
	}
	if (s->by_time)
		bridge_finish(s->bridge);
	session_give_held(s);
	/* Naming takes tens of milliseconds, in which a program that was just started may have ended. */
	r = profile_totals(s->profile).samples ? close_epoch(s, &e) : 0;
	if (r == 0)
		r = view_open(s->proc, session_unwinder_options(s), s->files, &fresh, &e);
	/* What has ended has no memory either, and may be seen before it is no process any more. */
	if (r < 0 && r != -ESRCH && s->owner)
		log_info("process %d called execve and cannot be read any more: %s", (int)s->pid, e.msg);
	else if (r < 0 && r != -ESRCH)
		log_warn("the target called execve and cannot be read any more: %s", e.msg);
	if (r < 0)
		return;
	/* One that was not used yet is for the JVM that may come now. */
	if (s->by_time)
		bridge_close(take_ptr(s->bridge));
	by_time_free(take_ptr(s->by_time));
	heap_frames_forget(s->heap_frames, 0);
	view_close(s->view);
	s->view = fresh;
	if (s->wall)
		wall_reset(s->wall);
	session_note_identity(s);
	threads_rename_all(s->threads);
	session_find_jvm(s, clock_monotonic_ns());
}

/* When an address space is gone, the record of the execve that ended it comes within this time. */
#define EXEC_RECORD_NS UINT64_C(200000000)

/*
 * Has the target called execve without our hearing of it? It may have done so before the events were
 * there, or the record was lost. All of the old address space reads as gone then, even the stack.
 */
bool session_missed_exec(struct session *s, const struct raw_sample *sample)
{
	uint64_t word;

	if (!s->proc || !sample->has_user ||
	    mem_read_u64(s->view->mem, arch_sp(arch_host(), &sample->regs), &word))
		return false;
	if (!s->gone_since_ns)
		s->gone_since_ns = sample->time_ns;
	if (sample->time_ns < s->gone_since_ns + EXEC_RECORD_NS)
		return false;
	s->gone_since_ns = 0;
	return maps_refresh(s->view->maps) == -ESRCH && proc_alive(s->proc);
}
