#include "sampler/daemon/keeper/intake.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/feed/feed.h"
#include "sampler/daemon/keeper/programs.h"
#include "sampler/daemon/ring/ring.h"
#include "sampler/input/reader.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/store/store.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/* READS: how many times READ_BYTES, before other feeds have their turn. NOTES_MAX: in one step. */
enum { READ_BYTES = 64 << 10, READS = 16, NOTES_MAX = 200 };

static const char *const event_kinds[FEED_EVENTS] = {
	[FEED_GAP] = "sampling gap", /* "gap" is what the keeper itself has seen */
	[FEED_THROTTLE] = "throttle",
	[FEED_EXEC] = "exec",
	[FEED_LEFT_OUT] = "left out",
};

/* How far the start of a profile may be from now: the worker sends a step soon after its end. */
#define EARLY_NS UINT64_C(60000000000)
#define LATE_NS UINT64_C(600000000000)

/* A target as it was introduced. */
struct kept {
	struct store_target target;
	struct arena texts;
};

/* The store cannot be written to. */
struct trouble {
	int code; /* 0: there is none */
	bool now; /* in the present step, too */
	uint64_t since_ns; /* when the loss began */
	struct err why;
};

/* What one worker sends. */
struct source {
	struct feed_reader *reader;
	int socket;
	uint64_t capture; /* 0: the history */
	struct kept *targets[FEED_TARGETS_MAX];
};

struct intake {
	struct store *store;
	struct captures *captures;
	struct ring *ring;
	struct programs *programs;
	struct source *sources[INTAKE_FEEDS]; /* the first n */
	size_t n;
	struct trouble trouble;
	unsigned notes; /* of the worker, since the last flush */
};

struct intake *intake_new(struct store *s, struct captures *c, struct ring *r)
{
	struct intake *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->store = s;
	in->captures = c;
	in->ring = r;
	in->programs = programs_new();
	if (in->programs)
		return in;
	free(in);
	return NULL;
}

static void forget_target(struct source *src, uint32_t number)
{
	struct kept *k = take_ptr(src->targets[number]);

	if (!k)
		return;
	arena_done(&k->texts);
	free(k);
}

static void source_free(struct source *src)
{
	close_at_exit(&src->socket);
	feed_reader_free(src->reader);
	for (uint32_t i = 0; i < FEED_TARGETS_MAX; i++)
		forget_target(src, i);
	free(src);
}

void intake_free(struct intake *in)
{
	if (!in)
		return;
	while (in->n)
		source_free(in->sources[--in->n]);
	programs_free(in->programs);
	free(in);
}

/* --- trouble with the store, and events --- */

/* Each kind of trouble is reported once, when it begins. */
static void note_failure(struct intake *in, int r, const struct err *why)
{
	struct trouble *t = &in->trouble;

	if (r != t->code)
		log_error("the history is not stored: %s; sampling goes on", why->msg);
	if (!t->code)
		t->since_ns = clock_realtime_ns() - STORE_STEP_S * UINT64_C(1000000000);
	t->code = r;
	t->now = true;
	t->why = *why;
}

static void note(struct intake *in, const struct store_target *t, uint64_t at_ns, const char *kind, const char *text)
{
	struct err e = {0};
	int r = store_note(in->store, t, at_ns, kind, text, &e);

	if (r < 0)
		note_failure(in, r, &e);
}

typedef char gap_text[sizeof(((struct err *)0)->msg) + 50];

static void note_gap(struct intake *in, uint64_t since_ns, const char *kind, const char *why, gap_text text)
{
	uint64_t now = clock_realtime_ns(), took = now > since_ns ? now - since_ns : 0;

	snprintf(text, sizeof(gap_text), "nothing was stored for %.1f s: %s", (double)took / 1e9, why);
	note(in, NULL, since_ns, kind, text);
}

/* A step without failures ends the trouble. */
static void note_step(struct intake *in)
{
	struct trouble *t = &in->trouble;
	gap_text text;

	if (t->code && !t->now) {
		note_gap(in, t->since_ns, "gap", t->why.msg, text);
		log_warn("%s", text);
		t->code = t->now ? t->code : 0;
	}
	t->now = false;
	in->notes = 0;
}

int intake_feed(struct intake *in, int socket, uint64_t capture)
{
	struct source *src = calloc(1, sizeof(*src));

	if (!src) {
		close_at_exit(&socket);
		return -ENOMEM;
	}
	src->socket = socket;
	src->capture = capture;
	src->reader = feed_reader_new();
	if (!src->reader || in->n == INTAKE_FEEDS) {
		int r = src->reader ? -EMFILE : -ENOMEM;

		source_free(src);
		return r;
	}
	in->sources[in->n++] = src;
	return 0;
}

size_t intake_poll(const struct intake *in, struct pollfd *ret)
{
	for (size_t i = 0; i < in->n; i++)
		ret[i] = (struct pollfd){.fd = in->sources[i]->socket, .events = POLLIN};
	return in->n;
}

/* Targets whose end was not announced. */
static void note_lost(struct intake *in, const struct source *src)
{
	for (uint32_t i = 0; i < FEED_TARGETS_MAX; i++)
		if (src->targets[i])
			note(in, &src->targets[i]->target, clock_realtime_ns(), "gap",
			     "the process that sampled it has ended unexpectedly");
}

/* --- one message --- */

static int copy_labels(struct kept *k, const struct feed_message *m)
{
	struct label *labels = arena_alloc(&k->texts, (m->n_labels + 1) * sizeof(*labels));

	k->target.boot_id = arena_strndup(&k->texts, m->boot_id, strlen(m->boot_id));
	if (!labels || !k->target.boot_id)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_labels; i++) {
		labels[i].key = arena_strndup(&k->texts, m->labels[i].key, strlen(m->labels[i].key));
		labels[i].value = arena_strndup(&k->texts, m->labels[i].value, strlen(m->labels[i].value));
		if (!labels[i].key || !labels[i].value)
			return -ENOMEM;
	}
	k->target.labels = labels;
	k->target.n_labels = m->n_labels;
	return 0;
}

/* It slows the target down a little, and may explain what the history shows at that time. */
static void note_capture(struct intake *in, const struct source *src, const struct kept *k)
{
	char text[200];

	captures_describe(in->captures, src->capture, text, sizeof(text));
	note(in, &k->target, clock_realtime_ns(), "capture", text);
}

static int add_target(struct intake *in, struct source *src, const struct feed_message *m)
{
	struct kept *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	src->targets[m->target] = k;
	k->target.pid = m->pid;
	k->target.start_ticks = m->start_ticks;
	k->target.since_ns = m->since_ns;
	r = copy_labels(k, m);
	if (r == 0)
		k->target.start_ticks = programs_start(in->programs, &k->target);
	if (r == 0 && src->capture)
		note_capture(in, src, k);
	return r;
}

static bool is_of_now(uint64_t at_ns)
{
	uint64_t now = clock_realtime_ns();

	return at_ns <= now + EARLY_NS && at_ns + LATE_NS >= now;
}

/* -EFBIG ends the feed, and with it the capture. */
static int take_piece(struct intake *in, const struct source *src, const struct feed_message *m,
		      const struct named_profile *np, struct err *err)
{
	int r = captures_piece(in->captures, src->capture, np, m->profile_len);

	return r < 0 ? err_set(err, -EPROTO, "the capture of PID %d is ended: %s", src->targets[m->target]->target.pid,
			       strerror(-r)) :
		       0;
}

/* A profile that could not be added is in the history nevertheless. */
static void add_to_ring(struct intake *in, const struct store_target *t, const struct named_profile *np)
{
	uint64_t start_ns = np->meta.start_realtime_ns;

	if (ring_add(in->ring, t, np, start_ns - FEED_LEAD_NS, clock_realtime_ns(), clock_monotonic_ns()) < 0)
		log_warn("no memory for the last hour");
}

static void add_to_history(struct intake *in, const struct store_target *t, const struct named_profile *np)
{
	struct err e = {0};
	int r = store_add(in->store, t, np, &e);

	if (r < 0)
		note_failure(in, r, &e);
	add_to_ring(in, t, np);
}

static int store_profile(struct intake *in, const struct source *src, const struct feed_message *m, struct err *err)
{
	struct named_profile *np = NULL;
	int r = reader_parse_profile(m->profile, m->profile_len, "the worker's profile", &np, NULL, err);

	if (r < 0)
		return r == -ENOMEM ? r : -EPROTO;
	if (src->capture) {
		r = take_piece(in, src, m, np, err);
		named_profile_free(np);
		return r;
	}
	if (is_of_now(np->meta.start_realtime_ns))
		add_to_history(in, &src->targets[m->target]->target, np);
	else
		log_warn("a profile whose time is not the present was dropped: is the clock being set?");
	named_profile_free(np);
	return 0;
}

static void store_event(struct intake *in, const struct source *src, const struct feed_message *m)
{
	uint64_t at = is_of_now(m->time_ns) ? m->time_ns : clock_realtime_ns();
	const struct kept *k = m->target < FEED_TARGETS_MAX ? src->targets[m->target] : NULL;

	if (in->notes < NOTES_MAX)
		note(in, k ? &k->target : NULL, at, event_kinds[m->event], m->text);
	if (++in->notes == NOTES_MAX)
		log_warn("too many events: the next ones of this step are not stored");
}

static int take(struct intake *in, struct source *src, const struct feed_message *m, struct err *err)
{
	switch (m->kind) {
	case FEED_TARGET: return add_target(in, src, m);
	case FEED_PROFILE: return store_profile(in, src, m, err);
	case FEED_GONE: forget_target(src, m->target); return 0;
	case FEED_EVENT:
		if (!src->capture)
			store_event(in, src, m);
		return 0;
	}
	return -EPROTO;
}

/* --- the stream --- */

static int take_all(struct intake *in, struct source *src, struct err *err)
{
	struct feed_message m;
	int r;

	while ((r = feed_reader_next(src->reader, &m)) > 0)
		if ((r = take(in, src, &m, err)) < 0)
			return r;
	return r < 0 ? err_set(err, -EPROTO, "a worker's messages break a rule, or are of another version") : 0;
}

/* 1: there may be more; 0: nothing more now; -EPIPE: the other end has closed; -EPROTO: it broke the protocol. */
static int read_once(struct intake *in, struct source *src, struct err *err)
{
	char bytes[READ_BYTES];
	ssize_t n = recv(src->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
	int r;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	r = feed_reader_add(src->reader, bytes, (size_t)n);
	if (r == 0)
		r = take_all(in, src, err);
	return r < 0 ? r : 1;
}

void intake_read(struct intake *in, size_t i)
{
	struct source *src = in->sources[i];
	struct err e = {0};
	int r = 1;

	for (int k = 0; r > 0 && k < READS; k++)
		r = read_once(in, src, &e);
	if (r >= 0)
		return;
	if (r != -EPIPE)
		log_error("%s; it is not read any more", r == -EPROTO ? e.msg : "no memory for what a worker sends");
	if (src->capture)
		captures_ended(in->captures, src->capture);
	else
		note_lost(in, src);
	in->sources[i] = in->sources[--in->n];
	source_free(src);
}

void intake_flush(struct intake *in)
{
	struct err e = {0};
	int r = store_flush(in->store, &e);

	if (r < 0)
		note_failure(in, r, &e);
	else
		store_mark_kept(in->store, clock_realtime_ns(), false);
	note_step(in);
	store_compact(in->store);
}

void intake_end(struct intake *in)
{
	intake_flush(in);
	if (!in->trouble.code)
		store_mark_kept(in->store, clock_realtime_ns(), true);
}

void intake_tend(struct intake *in)
{
	struct err e = {0};
	int r = store_tend(in->store, clock_realtime_ns(), &e);

	if (r < 0)
		log_warn("the history cannot be tidied up: %s", e.msg);
}

/* If the clock was set back since then, the difference means nothing. */
void intake_note_absence(struct intake *in)
{
	bool ended;
	uint64_t until = store_kept_until(in->store, &ended);
	gap_text text;

	if (!until || until >= clock_realtime_ns())
		return;
	if (ended)
		note_gap(in, until, "restart", "the daemon was stopped, and started again", text);
	else
		note_gap(in, until, "gap", "the process that keeps the history was not running", text);
	intake_flush(in); /* visible to users who look soon after an upgrade */
}
