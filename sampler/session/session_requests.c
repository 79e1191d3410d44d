#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "sampler/session/parts/threads.h"
#include "sampler/session/session_private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

int session_requests_open(struct session *s, struct err *err)
{
	if (!s->o.include_threads)
		return 0;
	s->only_threads = malloc(sizeof(*s->only_threads));
	if (!s->only_threads)
		return err_set(err, -ENOMEM, "out of memory");
	if (regcomp(s->only_threads, s->o.include_threads, REG_EXTENDED | REG_NOSUB)) {
		free(s->only_threads);
		s->only_threads = NULL;
		return err_set(err, -EINVAL, "'%s' is not a regular expression", s->o.include_threads);
	}
	s->o.engine_options.ask_first = true;
	return 0;
}

void session_requests_close(struct session *s)
{
	if (!s->only_threads)
		return;
	regfree(s->only_threads);
	free(s->only_threads);
}

void session_request_thread(struct session *s, pid_t tid, const char *comm)
{
	const char *name;

	if (!s->only_threads || !s->engine->ops->request)
		return;
	mem_new_sample(s->readers->mem);
	threads_rename(s->threads, tid);
	threads_seen(s->threads, tid, clock_monotonic_ns(), s->readers->hs, s->profile);
	name = profile_thread_name(s->profile, s->pid, tid);
	s->engine->ops->request(s->engine, tid,
				regexec(s->only_threads, name ? name : comm, 0, NULL, 0) == 0 ? ENGINE_REQUEST_SAMPLE :
												ENGINE_REQUEST_IGNORE);
}

/* The walk lacked registers that can be read if the thread is stopped. */
static void walked(void *session, struct sampled *x)
{
	struct session *s = session;
	const struct raw_sample *sample = x->raw;

	if (!sample->has_user || regs_known(&sample->regs, arch_host()->fp) || !s->engine->ops->request)
		return;
	if (x->walk->end != WALK_ROOT || x->walk->resynchronised)
		s->engine->ops->request(s->engine, sample->tid, ENGINE_REQUEST_REGS);
}

const struct part_ops session_requests_part = {.walked = walked};
