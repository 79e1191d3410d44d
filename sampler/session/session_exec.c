#include "sampler/session/session_private.h"

#include <errno.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/* Limits memory for programs that call execve() all the time: each of these profiles has equal frames of its own. */
enum { EPOCHS_MAX = 16 };

/* The address space is about to be replaced: names what was sampled in the old one. */
static int close_epoch(struct session *s, struct err *err)
{
	struct named_builder *b = named_builder_new();
	struct profile *fresh = session_new_profile(s);
	struct named_profile *np;

	if (b)
		named_builder_meta(b)->slice_ns = profile_slice_ns(s->profile);
	/* It is not known yet whether child processes will have samples. */
	if (!b || !fresh || session_name_view(s, b, s->o.show.process_root || s->children) < 0 ||
	    !(np = named_builder_take(b))) {
		profile_free(fresh);
		named_builder_free(b);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (!vec_push(&s->epochs, np)) {
		named_profile_free(np);
		profile_free(fresh);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (s->epochs.n >= EPOCHS_MAX && session_merge_named(&s->epochs, profile_slice_ns(s->profile)) < 0)
		log_warn("out of memory for what was sampled in programs that called execve");
	session_replace_profile(s, fresh);
	return 0;
}

/* Once, not for each sample: the next look is at the next execve(2). */
static void say_unreadable(struct session *s, int r, const struct err *why)
{
	if (s->unreadable)
		return;
	s->unreadable = true;
	if (s->owner)
		log_info("process %d called execve and can no longer be read: %s", (int)s->pid, why->msg);
	else if (r == -EPIPE)
		log_warn("the target called execve and can no longer be read: the process of jsampler that keeps the "
			 "privileges has ended");
	else
		log_warn("the target called execve and can no longer be read: %s", why->msg);
}

void session_on_exec(struct session *s)
{
	struct readers *fresh = NULL;
	struct err e = {0};
	int r;

	if (!s->proc)
		return;
	s->gone_since_ns = 0;
	s->before_exec = false;
	if (s->o.snapshot || s->o.only_jvm || s->o.one_program) { /* a recording holds one address space */
		s->executed = true;
		session_stop(s);
		return;
	}
	bridge_finish(s->bridge, &s->stopped);
	session_process_held(s);
	/* Naming takes tens of milliseconds, in which a short program may already have ended. */
	r = profile_totals(s->profile).samples ? close_epoch(s, &e) : 0;
	if (r == 0) {
		parts_call(&s->parts, exec);
		r = readers_open(s->proc, session_unwinder_options(s), s->files, NULL, &fresh, &e);
	}
	/* A process that has ended has no memory either, even while it is still in /proc. */
	if (r < 0 && r != -ESRCH)
		say_unreadable(s, r, &e);
	if (r < 0) {
		session_note_name(s); /* what has ended has it until its parent has waited for it */
		return;
	}
	readers_close(s->readers);
	s->readers = fresh;
	s->readers->young = true;
	s->unreadable = false;
	session_note_identity(s);
	session_find_jvm(s, clock_monotonic_ns());
}

bool session_executed(const struct session *s)
{
	return s->executed;
}

/* The record of an execve arrives within this time after the address space has gone. */
#define EXEC_RECORD_NS UINT64_C(200000000)

/* Nothing of it can be read then, while the process is still there. */
static bool address_space_gone(struct session *s)
{
	return maps_refresh(s->readers->maps) == -ESRCH && proc_alive(s->proc);
}

/*
 * Has the target called execve without a record of it, because the record was lost? Then nothing of the
 * old address space can be read, not even the stack.
 */
bool session_missed_exec(struct session *s, const struct raw_sample *sample)
{
	uint64_t word;

	if (!s->proc || s->unreadable || !sample->has_user ||
	    mem_read_u64(s->readers->mem, arch_sp(arch_host(), &sample->regs), &word))
		return false;
	if (!s->gone_since_ns)
		s->gone_since_ns = sample->time_ns;
	if (sample->time_ns < s->gone_since_ns + EXEC_RECORD_NS)
		return false;
	s->gone_since_ns = 0;
	return address_space_gone(s);
}

/* The top of the first thread's stack is always there, and reading all mappings can take long. */
static bool stack_readable(const struct session *s)
{
	uint64_t word;

	for (size_t i = maps_count(s->readers->maps); i-- > 0;) {
		const struct mapping *m = maps_at(s->readers->maps, i);

		if (!strcmp(m->path, "[stack]"))
			return mem_read_u64(s->readers->mem, m->end - sizeof(word), &word);
	}
	return false;
}

/* An execve between the opening of the readers and that of the events has no record, so no time is waited for it. */
void session_check_exec(struct session *s)
{
	if (s->proc && !stack_readable(s) && address_space_gone(s))
		session_on_exec(s);
}
