#include "sampler/daemon/captures/captures.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler/daemon/captures/capture_files.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/* Captures without a file: those that run, and the last ones that failed. */
enum { KNOWN = 32, WAIT_S = 2 };

/* If the other end forgets a capture, it is ended this long after it was due. */
#define LATE_S 60

struct known {
	struct capture c; /* id 0: not used */
	bool asked; /* the first process has not answered yet */
	int refusal; /* refused because others run: -EALREADY: a capture of the same process; -EBUSY: too many */
	struct named_builder *sum; /* the merged pieces; NULL: none has arrived */
	uint64_t duration_ns, bytes;
};

struct captures {
	const char *dir;
	int (*ask)(void *ctx, uint64_t id, const struct capture_request *r);
	void *ctx;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t answered;
	struct known known[KNOWN];
	uint64_t last_id;
	bool asking; /* a thread waits for the first process */
};

struct captures *captures_new(const char *dir, int (*ask)(void *ctx, uint64_t id, const struct capture_request *r),
			      void *ctx)
{
	struct captures *c = calloc(1, sizeof(*c));
	pthread_condattr_t a;

	if (!c)
		return NULL;
	c->dir = dir;
	c->ask = ask;
	c->ctx = ctx;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&c->answered, &a);
	pthread_condattr_destroy(&a);
	return c;
}

void captures_free(struct captures *c)
{
	if (!c)
		return;
	for (int i = 0; i < KNOWN; i++)
		named_builder_free(c->known[i].sum);
	pthread_cond_destroy(&c->answered);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* --- the list; call with the lock held --- */

static bool is_running(const struct known *k)
{
	return k->c.id && k->c.state == CAPTURE_RUNNING;
}

static struct known *find(struct captures *c, uint64_t id)
{
	for (int i = 0; id && i < KNOWN; i++)
		if (c->known[i].c.id == id)
			return &c->known[i];
	return NULL;
}

static void fail(struct captures *c, struct known *k, const char *why)
{
	k->c.state = CAPTURE_FAILED;
	k->asked = false;
	snprintf(k->c.why, sizeof(k->c.why), "%.*s", (int)sizeof(k->c.why) - 1, why);
	named_builder_free(take_ptr(k->sum));
	pthread_cond_broadcast(&c->answered);
}

static void end_late(struct captures *c)
{
	uint64_t now_ms = clock_realtime_ns() / 1000000;

	for (int i = 0; i < KNOWN; i++) {
		struct known *k = &c->known[i];

		if (is_running(k) && now_ms > k->c.id + (k->c.request.seconds + LATE_S) * UINT64_C(1000))
			fail(c, k, "it has not ended in time");
	}
}

/* Replaces the one that failed longest ago. NULL: too many are running. */
static struct known *add(struct captures *c, const struct capture_request *r)
{
	struct known *free_one = NULL;
	uint64_t id = clock_realtime_ns() / 1000000;
	int running = 0;

	for (int i = 0; i < KNOWN; i++) {
		struct known *k = &c->known[i];

		running += is_running(k);
		if (!is_running(k) && (!free_one || k->c.id < free_one->c.id))
			free_one = k;
	}
	if (running >= CAPTURES_AT_ONCE || !free_one)
		return NULL;
	c->last_id = id > c->last_id ? id : c->last_id + 1;
	*free_one = (struct known){.c = {.id = c->last_id, .state = CAPTURE_RUNNING, .request = *r}, .asked = true};
	return free_one;
}

/* --- asking --- */

static int check(const struct capture_request *r, struct err *err)
{
	if (r->pid <= 0)
		return err_set(err, -EINVAL,
			       "a capture needs pid=PID, or target=TARGET of those that /api/v1/targets lists");
	if (!r->hz || r->hz > CAPTURE_HZ_MAX)
		return err_set(err, -EINVAL, "frequency=%u: from 1 to %d", r->hz, CAPTURE_HZ_MAX);
	if (!r->seconds || r->seconds > CAPTURE_SECONDS_MAX)
		return err_set(err, -EINVAL, "seconds=%u: from 1 to %d", r->seconds, CAPTURE_SECONDS_MAX);
	return 0;
}

static void wait_for_answer(struct captures *c, uint64_t id)
{
	struct timespec until;
	struct known *k;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	while ((k = find(c, id)) && k->asked)
		if (pthread_cond_timedwait(&c->answered, &c->lock, &until) == ETIMEDOUT)
			break;
	if ((k = find(c, id)) && k->asked)
		fail(c, k, "the daemon's first process does not answer");
}

static int ask(struct captures *c, const struct capture_request *r, uint64_t *ret_id, struct err *err)
{
	struct known *k;
	uint64_t id;

	end_late(c);
	if (c->asking)
		return err_set(err, -EBUSY, "another capture is just being requested: try again");
	k = add(c, r);
	if (!k)
		return err_set(err, -EBUSY, "%d captures are running already: try again when one has ended",
			       CAPTURES_AT_ONCE);
	id = k->c.id;
	if (c->ask(c->ctx, id, r) < 0)
		fail(c, k, "the daemon's first process cannot be asked");
	c->asking = true; /* at most one thread, so that the others can answer requests */
	wait_for_answer(c, id);
	c->asking = false;
	k = find(c, id);
	*ret_id = id;
	return k && k->c.state == CAPTURE_FAILED ? err_set(err, k->refusal ? k->refusal : -ENODATA, "%s", k->c.why) : 0;
}

int captures_start(struct captures *c, const struct capture_request *r, uint64_t *ret_id, struct err *err)
{
	int e = check(r, err);

	if (e < 0)
		return e;
	pthread_mutex_lock(&c->lock);
	e = ask(c, r, ret_id, err);
	pthread_mutex_unlock(&c->lock);
	return e;
}

void captures_began(struct captures *c, uint64_t id)
{
	struct known *k;

	pthread_mutex_lock(&c->lock);
	k = find(c, id);
	if (k)
		k->asked = false;
	pthread_cond_broadcast(&c->answered);
	pthread_mutex_unlock(&c->lock);
}

void captures_refused(struct captures *c, uint64_t id, int code, const char *why)
{
	struct known *k;

	pthread_mutex_lock(&c->lock);
	k = find(c, id);
	if (k && is_running(k)) {
		k->refusal = code == -EALREADY || code == -EBUSY ? code : 0;
		fail(c, k, why);
	}
	pthread_mutex_unlock(&c->lock);
}

/* --- what comes --- */

static int add_piece(struct known *k, const struct named_profile *np)
{
	struct named_meta *m;

	if (!k->sum) {
		k->sum = named_builder_new();
		if (!k->sum)
			return -ENOMEM;
		named_builder_copy_meta(k->sum, &np->meta);
	} else {
		named_meta_add_counts(named_builder_meta(k->sum), &np->meta);
	}
	k->duration_ns += np->meta.duration_ns;
	m = named_builder_meta(k->sum);
	m->duration_ns = k->duration_ns;
	return named_builder_add(k->sum, np);
}

int captures_piece(struct captures *c, uint64_t id, const struct named_profile *np, size_t bytes)
{
	struct known *k;
	int r = -ENOENT;

	pthread_mutex_lock(&c->lock);
	k = find(c, id);
	if (k && is_running(k)) {
		k->bytes += bytes;
		r = k->bytes > CAPTURE_BYTES ? -EFBIG : add_piece(k, np);
		if (r == 0 && named_builder_bytes(k->sum) > CAPTURE_BYTES)
			r = -EFBIG;
	}
	if (r == -EFBIG)
		snprintf(k->c.why, sizeof(k->c.why), "it ended early because it became too large");
	pthread_mutex_unlock(&c->lock);
	return r;
}

void captures_describe(struct captures *c, uint64_t id, char *dst, size_t size)
{
	const struct known *k;
	char by[32] = "with the token";

	pthread_mutex_lock(&c->lock);
	k = find(c, id);
	if (k && k->c.request.by != CAPTURE_BY_NOBODY)
		snprintf(by, sizeof(by), "by user %u", k->c.request.by);
	snprintf(dst, size, "capture %" PRIu64 ": sampled %u times for each second of CPU time, for %u s; asked for %s",
		 id, k ? k->c.request.hz : 0, k ? k->c.request.seconds : 0, by);
	pthread_mutex_unlock(&c->lock);
}

static void keep(struct captures *c, struct known *k)
{
	struct named_profile *np = named_builder_take(take_ptr(k->sum));
	struct err e = {0};
	int r = np ? capture_file_write(c->dir, &k->c, np, &e) : err_set(&e, -ENOMEM, "out of memory");

	named_profile_free(np);
	if (k->c.why[0])
		log_warn("the capture of PID %d: %s", k->c.request.pid, k->c.why);
	if (r < 0) {
		log_warn("the capture of PID %d is lost: %s", k->c.request.pid, e.msg);
		fail(c, k, e.msg);
		return;
	}
	*k = (struct known){0};
	capture_files_tidy(c->dir);
}

void captures_ended(struct captures *c, uint64_t id)
{
	struct known *k;

	pthread_mutex_lock(&c->lock);
	k = find(c, id);
	if (k && is_running(k)) {
		if (k->sum)
			keep(c, k);
		else
			fail(c, k, "the program used no CPU time, ended, or could not be sampled (the log says so)");
	}
	pthread_mutex_unlock(&c->lock);
}

/* --- what there is --- */

static size_t copy_known(struct captures *c, struct capture *dst)
{
	size_t n = 0;

	end_late(c);
	for (int i = 0; i < KNOWN; i++)
		if (c->known[i].c.id)
			dst[n++] = c->known[i].c;
	return n;
}

static int list(struct captures *c, struct capture **ret, size_t *ret_n)
{
	struct capture *all = NULL, *more;
	size_t n = 0;
	int r = capture_files(c->dir, &all, &n);

	if (r < 0)
		return r;
	more = realloc(all, (n + KNOWN) * sizeof(*all));
	if (!more) {
		free(all);
		return -ENOMEM;
	}
	n += copy_known(c, more + n);
	qsort(more, n, sizeof(*more), captures_newest_first);
	*ret = more;
	*ret_n = n;
	return 0;
}

int captures_list(struct captures *c, struct capture **ret, size_t *ret_n)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = list(c, ret, ret_n);
	pthread_mutex_unlock(&c->lock);
	return r;
}

int captures_read(struct captures *c, uint64_t id, struct named_profile **ret, struct err *err)
{
	CLEANUP(free_at_exit) struct capture *all = NULL;
	size_t n = 0, i = 0;
	int r = captures_list(c, &all, &n);

	if (r < 0)
		return err_set(err, r, "cannot list the captures: %s", strerror(-r));
	while (i < n && all[i].id != id)
		i++;
	if (i == n)
		return err_set(err, -ENOENT, "there is no capture %" PRIu64, id);
	if (all[i].state == CAPTURE_RUNNING)
		return err_set(err, -EAGAIN, "the capture %" PRIu64 " is still running", id);
	if (all[i].state == CAPTURE_FAILED)
		return err_set(err, -ENODATA, "the capture %" PRIu64 " has failed: %s", id, all[i].why);
	return capture_file_read(c->dir, &all[i], ret, err);
}
