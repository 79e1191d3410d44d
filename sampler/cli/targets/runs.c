#include "sampler/cli/targets/runs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/profile/named_builder.h"
#include "sampler/session/session_share.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

struct run {
	struct runs *owner;
	pid_t pid;
	struct session *session;
	pthread_t thread;
	bool running, abandoned;
	atomic_bool ended; /* session_run() has returned */
	int result;
	struct err err;
};

struct runs {
	struct run *runs;
	size_t n;
	struct budget_pool files;
	struct session_options options;
	int done_fd;
	uint64_t duration_ns;
	_Atomic size_t left;
};

/* The next run from *i on that was not abandoned; NULL: none. */
static struct run *next_run(const struct runs *r, size_t *i)
{
	while (*i < r->n && r->runs[*i].abandoned)
		(*i)++;
	return *i < r->n ? &r->runs[(*i)++] : NULL;
}

static void run_end(struct run *run)
{
	if (run->running) {
		session_stop(run->session);
		pthread_join(run->thread, NULL);
		run->running = false;
	}
	session_close(run->session);
}

void runs_close(struct runs *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->runs && i < r->n; i++)
		run_end(&r->runs[i]);
	session_unshare_events(&r->options);
	if (r->done_fd >= 0)
		close(r->done_fd);
	free(r->runs);
	free(r);
}

static void runs_close_at_exit(struct runs **r)
{
	runs_close(*r);
}

int runs_open(const pid_t *pids, size_t n, const struct session_options *o, struct runs **ret, struct err *err)
{
	CLEANUP(runs_close_at_exit) struct runs *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->runs = calloc(n, sizeof(*r->runs));
	if (r->done_fd < 0 || !r->runs)
		return err_set(err, -ENOMEM, "out of memory or file descriptors");
	r->n = n;
	session_files_pool(&r->files, n);
	r->options = *o;
	r->options.files = &r->files;
	session_share_events(&r->options, n);
	for (size_t i = 0; i < n; i++) {
		int e = session_open(pids[i], &r->options, &r->runs[i].session, err);

		if (e < 0)
			return e;
		r->runs[i].owner = r;
		r->runs[i].pid = pids[i];
	}
	*ret = take_ptr(r);
	return 0;
}

static void *run_session(void *arg)
{
	struct run *run = arg;
	struct runs *r = run->owner;
	uint64_t one = 1;

	run->result = session_run(run->session, r->duration_ns, &run->err);
	atomic_store(&run->ended, true);
	if (--r->left == 0 && write(r->done_fd, &one, sizeof(one)) < 0)
		return NULL;
	return NULL;
}

int runs_start(struct runs *r, uint64_t duration_ns, struct err *err)
{
	r->duration_ns = duration_ns;
	r->left = r->n;
	for (size_t i = 0; i < r->n; i++) {
		int e = session_start(r->runs[i].session, err);

		if (e < 0)
			return e;
	}
	for (size_t i = 0; i < r->n; i++) {
		struct run *run = &r->runs[i];
		int e = pthread_create(&run->thread, NULL, run_session, run);

		if (e)
			return err_set(err, -e, "cannot start a thread: %s", strerror(e));
		run->running = true;
	}
	return 0;
}

int runs_done_fd(const struct runs *r)
{
	return r->done_fd;
}

void runs_stop(struct runs *r)
{
	for (size_t i = 0; i < r->n; i++)
		session_stop(r->runs[i].session);
}

size_t runs_abandon(struct runs *r)
{
	size_t left = 0;

	for (size_t i = 0; i < r->n; i++)
		left += atomic_load(&r->runs[i].ended);
	for (size_t i = 0; left && i < r->n; i++) {
		struct run *run = &r->runs[i];

		run->abandoned = !atomic_load(&run->ended);
		if (run->abandoned)
			log_error("PID %d: sampling cannot end, because reading this process blocks (its memory or its "
				  "execve(2) may be waiting for a file system that does not respond); it is left out",
				  (int)run->pid);
	}
	return left;
}

int runs_join(struct runs *r, struct err *err)
{
	struct run *run;
	int result = 0;

	for (size_t i = 0; (run = next_run(r, &i));) {
		if (run->running)
			pthread_join(run->thread, NULL);
		run->running = false;
		if (run->result < 0 && result == 0)
			result = err_set(err, run->result, "PID %d: %s", (int)run->pid, run->err.msg);
	}
	return result;
}

static void merge_meta(struct named_meta *sum, const struct named_meta *m)
{
	named_meta_add_counts(sum, m);
	if (m->duration_ns > sum->duration_ns)
		sum->duration_ns = m->duration_ns;
}

static int add_result(struct run *run, bool first, struct named_builder *b, struct named_profile **keep,
		      struct err *err)
{
	struct named_profile *np;
	int e = session_result(run->session, &np, err);

	if (e < 0)
		return e;
	if (first)
		named_builder_copy_meta(b, &np->meta);
	else
		merge_meta(named_builder_meta(b), &np->meta);
	e = named_builder_add(b, np);
	if (keep)
		*keep = np;
	else
		named_profile_free(np);
	return e < 0 ? err_set(err, e, "out of memory while naming the stacks") : 0;
}

int runs_result(struct runs *r, struct named_profile **each, struct named_profile **ret, struct err *err)
{
	struct named_builder *b;
	struct run *run;
	bool first = true;
	int e = 0;

	if (r->n == 1 && !each)
		return session_result(r->runs[0].session, ret, err);
	b = named_builder_new();
	if (!b)
		return err_set(err, -ENOMEM, "out of memory while naming the stacks");
	for (size_t i = 0; e == 0 && (run = next_run(r, &i)); first = false)
		e = add_result(run, first, b, each ? &each[run - r->runs] : NULL, err);
	if (e == 0 && (*ret = named_builder_take(b)))
		return 0;
	named_builder_free(b);
	return e < 0 ? e : err_set(err, -ENOMEM, "out of memory while naming the stacks");
}

void runs_end_naming(struct runs *r)
{
	struct run *run;

	for (size_t i = 0; (run = next_run(r, &i));)
		session_end_naming(run->session);
}

void runs_forget_stacks(struct runs *r)
{
	struct run *run;

	for (size_t i = 0; (run = next_run(r, &i));)
		session_forget_stacks(run->session);
}

static void add_children(struct session_children *sum, const struct session_children *c)
{
	sum->processes += c->processes;
	sum->sampled += c->sampled;
	sum->unread += c->unread;
	sum->unread_weight += c->unread_weight;
	sum->refused += c->refused;
	sum->cpu_ns += c->cpu_ns;
	if (!sum->names[0])
		memcpy(sum->names, c->names, sizeof(sum->names));
}

static void add_summary(struct session_summary *sum, const struct session_summary *s)
{
	profile_totals_add(&sum->totals, &s->totals);
	sum->engine.lost += s->engine.lost;
	sum->engine.throttled += s->engine.throttled;
	sum->engine.threads += s->engine.threads;
	add_children(&sum->children, &s->children);
	sum->cpu_ns += s->cpu_ns;
	sum->own_cpu_ns += s->engine.helper_cpu_ns; /* the rest is this process's, of all sessions */
	sum->unread += s->unread;
	sum->is_jvm |= s->is_jvm;
	sum->target_ended &= s->target_ended;
}

struct session_summary runs_summary(const struct runs *r)
{
	size_t i = 0;
	struct run *run = next_run(r, &i);
	struct session_summary sum = session_summary(run->session);

	while ((run = next_run(r, &i))) {
		struct session_summary s = session_summary(run->session);

		add_summary(&sum, &s);
	}
	return sum;
}

struct session_live runs_live(const struct runs *r)
{
	struct session_live sum = {0};
	struct run *run;

	for (size_t i = 0; (run = next_run(r, &i));) {
		struct session_live l = session_live(run->session);

		sum.samples += l.samples;
		sum.lost += l.lost;
		sum.threads += l.threads;
		sum.children += l.children;
		sum.helper_cpu_ns += l.helper_cpu_ns;
	}
	return sum;
}
