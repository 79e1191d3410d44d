#include "sampler/engine/suspend/suspend_tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/engine_thread.h"
#include "sampler/engine/suspend/suspend_link.h"
#include "sampler/engine/suspend/suspend_loop.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum { END_MS = 1000, LOOK_MS = 500 };

struct suspend_tracer {
	struct proc *proc; /* borrowed, as is the next */
	struct suspend_link *link;
	const struct engine_options *options; /* during suspend_tracer_new() */
	bool died;
	pid_t owner, child; /* child 0: it has been waited for */
	int signal; /* that ended it; 0: none */
	int socket; /* -1: it could not be started */
};

/* --- The process */

struct ready {
	int32_t code; /* 0, or a negative errno */
	struct err err;
};

static bool is_own(const void *ctx, int fd)
{
	const struct suspend_tracer *t = ctx;

	return fd == t->socket || fd == t->link->push_fd || fd == proc_dirfd(t->proc) || fd == proc_pidfd(t->proc);
}

/* False: the owner has ended, or does not want to begin. */
static bool wait_for_start(const struct suspend_tracer *t)
{
	struct pollfd p = {.fd = t->socket, .events = POLLIN};
	char start;

	while (getppid() == t->owner && poll(&p, 1, LOOK_MS) <= 0)
		;
	return p.revents & POLLIN && channel_receive(t->socket, &start, sizeof(start), NULL) == 0;
}

/*
 * What would end or stop this process is blocked: Ctrl-C and Ctrl-Z are for the owner, and a thread of the target may be
 * stopped just then. The priority is raised while that is permitted.
 */
static int prepare(struct suspend_tracer *t, struct suspend_loop **ret, struct err *err)
{
	sigset_t all;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "jsampler-stop", 0, 0, 0);
	channel_stay_behind(is_own, t);
	engine_thread_raise_priority();
	r = t->options->confine_tracer(t->socket, err);
	return r < 0 ? r : suspend_loop_new(t->proc, t->link, t->options, t->owner, ret, err);
}

static void run_child(void *ctx, int socket)
{
	struct suspend_tracer *t = ctx;
	struct suspend_loop *loop = NULL;
	struct ready ready = {0};

	t->socket = socket;
	ready.code = prepare(t, &loop, &ready.err);
	if (channel_send(socket, &ready, sizeof(ready), -1) == 0 && ready.code == 0 && wait_for_start(t))
		suspend_loop_run(loop);
	suspend_loop_free(loop);
}

/* --- Its owner */

/* It has closed its end of the socket; the rest of its end takes a moment. */
static void note_end(struct suspend_tracer *t)
{
	int status = 0;

	t->died = true;
	for (int ms = 0; t->child && ms < END_MS; ms++) {
		if (waitpid(t->child, &status, WNOHANG) != 0)
			t->child = 0;
		else
			poll(NULL, 0, 1);
	}
	t->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int suspend_tracer_result(const struct suspend_tracer *t, struct err *err)
{
	if (!t->died)
		return 0;
	if (t->signal == SIGSYS)
		return err_set(err, -EPIPE, "the process that stops threads tried a system call that is not allowed");
	return err_set(err, -EPIPE, "the process that stops threads has ended: %s",
		       t->signal ? strsignal(t->signal) : "it exited");
}

static int start_process(struct suspend_tracer *t, struct err *err)
{
	struct ready ready;
	int r;

	t->owner = getpid();
	r = channel_start(run_child, t, &t->socket, &t->child);
	if (r < 0)
		return err_set(err, r, "cannot start the process that stops threads: %s", strerror(-r));
	r = channel_receive(t->socket, &ready, sizeof(ready), NULL);
	if (r < 0) {
		note_end(t);
		return suspend_tracer_result(t, err);
	}
	ready.err.msg[sizeof(ready.err.msg) - 1] = '\0';
	if (ready.code == 0 && ready.err.msg[0])
		log_info("%s", ready.err.msg);
	return ready.code ? err_set(err, ready.code < 0 ? ready.code : -EPROTO, "%s", ready.err.msg) : 0;
}

int suspend_tracer_new(struct proc *proc, struct suspend_link *link, const struct engine_options *o,
		       struct suspend_tracer **ret, struct err *err)
{
	struct suspend_tracer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	*t = (struct suspend_tracer){.proc = proc, .link = link, .options = o, .socket = -1};
	r = start_process(t, err);
	t->options = NULL;
	if (r < 0) {
		suspend_tracer_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

int suspend_tracer_start(struct suspend_tracer *t, struct err *err)
{
	const char start = 0;
	int r = channel_send(t->socket, &start, sizeof(start), -1);

	return r < 0 ? err_set(err, r, "the process that stops threads has ended: %s", strerror(-r)) : 0;
}

void suspend_tracer_stop(struct suspend_tracer *t)
{
	t->link->shared->stopping = true;
}

void suspend_tracer_wait(struct suspend_tracer *t, uint64_t until_ns)
{
	if (!suspend_link_wait(t->link, t->socket, until_ns) && !suspend_link_done(t->link) && !t->died)
		note_end(t);
}

bool suspend_tracer_done(const struct suspend_tracer *t)
{
	return t->died || suspend_link_done(t->link);
}

void suspend_tracer_free(struct suspend_tracer *t)
{
	if (!t)
		return;
	suspend_tracer_stop(t);
	channel_end_soon(t->socket, t->child, END_MS);
	free(t);
}
