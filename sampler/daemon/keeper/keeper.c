#include "sampler/daemon/keeper/keeper.h"

#include <errno.h>
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/closed/closed.h"
#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/http/http.h"
#include "sampler/daemon/keeper/intake.h"
#include "sampler/daemon/ring/ring.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

#define SECOND UINT64_C(1000000000)
#define TEND_NS (60 * SECOND)

enum { MESSAGES = 64 /* in one turn */ };

/* Time for the feed to deliver the rest after KEEPER_STOP. */
#define LAST_NS (2 * SECOND)

struct keeper {
	const struct keeper_options *o;
	struct store *store;
	struct captures *captures;
	struct ring *ring;
	struct daemon_state state;
	struct intake *intake;
	struct http *http;
	uint64_t flush_ns, flush_at, tend_at; /* CLOCK_MONOTONIC */
	bool stopping, told; /* told: by KEEPER_STOP */
};

/* --- beginning --- */

static int take_on_owner(int dir, struct err *err)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return err_set(err, -errno, "cannot look at the directory of the history: %m");
	if (geteuid() != 0 || st.st_uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
		return err_set(err, -errno, "cannot take on the ids of the owner of the history: %m");
	return 0;
}

/*
 * The service manager signals all processes of a service, but only the broker decides when this one ends. Writing
 * beyond the limit of file sizes is to be an error, not a signal.
 */
static void ignore_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
}

/* SQLite opens files by path: these are below the working directory. */
#define HERE "."

static int open_store(struct keeper *k, struct err *err)
{
	int r = take_on_owner(k->o->store, err);

	if (r < 0)
		return r;
	if (fchdir(k->o->store) < 0)
		return err_set(err, -errno, "cannot enter the directory of the history: %m");
	return store_open(HERE, &k->o->limits, &k->store, err);
}

static int start_http(struct keeper *k, struct err *err)
{
	const struct http_options ho = {.unix_socket = k->o->listener,
					.tcp_socket = k->o->tcp,
					.token = k->o->token,
					.store = HERE,
					.captures = k->captures,
					.ring = k->ring,
					.state = &k->state};

	return ho.unix_socket >= 0 || ho.tcp_socket >= 0 ? http_start(&ho, &k->http, err) : 0;
}

/* Called in a thread that answers requests. */
static int ask_for_capture(void *ctx, uint64_t id, const struct capture_request *r)
{
	const struct keeper *k = ctx;
	const struct keeper_message m = {.what = KEEPER_CAPTURE, .capture = id, .request = *r};

	return channel_send(k->o->control, &m, sizeof(m), -1);
}

static int begin(struct keeper *k, struct err *err)
{
	struct closed_gaps gaps;
	int r;

	ignore_signals();
	r = open_store(k, err);
	if (r == 0)
		r = closed_begin_keeping(k->o->store, &gaps, err);
	if (r < 0)
		return r;
	closed_say_gaps(&gaps);
	k->captures = captures_new(HERE, ask_for_capture, k);
	k->ring = ring_new(k->o->ring_bytes, clock_realtime_ns());
	k->intake = k->captures && k->ring ? intake_new(k->store, k->captures, k->ring) : NULL;
	if (!k->intake)
		return err_set(err, -ENOMEM, "out of memory");
	intake_note_absence(k->intake);
	return start_http(k, err);
}

/* --- the broker --- */

static void tell(const struct keeper *k, enum keeper_what what)
{
	const struct keeper_message m = {.what = what};

	channel_send(k->o->control, &m, sizeof(m), -1);
}

static void take_feed(struct keeper *k, int fd, uint64_t capture)
{
	int r = intake_feed(k->intake, fd, capture);

	if (capture && r == 0)
		captures_began(k->captures, capture);
	else if (capture)
		captures_refused(k->captures, capture, r, "there is no memory for it");

	if (r < 0)
		log_error("what a worker sends cannot be read: %s", strerror(-r));
}

static void set_limits(struct keeper *k, const struct keeper_message *m)
{
	store_set_limits(k->store, &m->limits);
	ring_limit(k->ring, m->ring_bytes);
}

static void take_state(struct keeper *k, const struct daemon_numbers *n)
{
	daemon_state_set(&k->state, n);
	tell(k, KEEPER_ALIVE);
}

static void take_message(struct keeper *k)
{
	CLEANUP(close_at_exit) int fd = -1;
	struct keeper_message m;

	if (channel_receive(k->o->control, &m, sizeof(m), &fd) < 0)
		k->stopping = true;
	else if (m.what == KEEPER_STOP)
		k->stopping = k->told = true;
	else if (m.what == KEEPER_FEED && fd >= 0)
		take_feed(k, take_fd(&fd), m.capture);
	else if (m.what == KEEPER_LIMITS)
		set_limits(k, &m);
	else if (m.what == KEEPER_STATE)
		take_state(k, &m.numbers);
	else if (m.what == KEEPER_CAPTURE_REFUSED)
		captures_refused(k->captures, m.capture, m.code, m.why);
}

/* All that wait: a capture is said to have failed before its feed ends. */
static void take_messages(struct keeper *k)
{
	struct pollfd p = {.fd = k->o->control, .events = POLLIN};

	for (int i = 0; i < MESSAGES && !k->stopping && poll(&p, 1, 0) == 1; i++)
		take_message(k);
}

/* --- the feeds --- */

/* p[0..n]: as intake_poll() filled it, polled. Backwards, because the last one takes the place of one that has ended. */
static void read_feeds(struct keeper *k, const struct pollfd *p, size_t n)
{
	while (n--)
		if (p[n].revents)
			intake_read(k->intake, n);
}

/* Returns once the workers have closed their ends, or the time is over. */
static void read_rest(struct keeper *k)
{
	uint64_t until = clock_monotonic_ns() + LAST_NS, now;
	struct pollfd p[INTAKE_FEEDS];
	size_t n;

	while ((n = intake_poll(k->intake, p)) && (now = clock_monotonic_ns()) < until)
		if (poll(p, n, (int)((until - now) / 1000000 + 1)) > 0)
			read_feeds(k, p, n);
}

/* --- the loop --- */

static int wait_ms(const struct keeper *k)
{
	uint64_t now = clock_monotonic_ns(), next = k->flush_at < k->tend_at ? k->flush_at : k->tend_at;

	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static void do_what_is_due(struct keeper *k)
{
	uint64_t now = clock_monotonic_ns();

	if (now >= k->flush_at) {
		intake_flush(k->intake);
		atomic_store(&k->state.names_left_out, store_names_left_out(k->store));
		k->flush_at = now + k->flush_ns;
	}
	if (now >= k->tend_at) {
		intake_tend(k->intake);
		malloc_trim(0); /* memory that profiles and roll-ups needed for a while */
		k->tend_at = now + TEND_NS;
	}
}

static int work(struct keeper *k, struct err *err)
{
	struct pollfd p[1 + INTAKE_FEEDS];

	k->flush_at = clock_monotonic_ns() + k->flush_ns;
	k->tend_at = clock_monotonic_ns() + TEND_NS;
	while (!k->stopping) {
		size_t n = intake_poll(k->intake, p + 1);

		p[0] = (struct pollfd){.fd = k->o->control, .events = POLLIN};
		if (poll(p, 1 + n, wait_ms(k)) < 0 && errno != EINTR)
			return err_set(err, -errno, "poll: %m");
		if (p[0].revents)
			take_messages(k);
		read_feeds(k, p + 1, n);
		do_what_is_due(k);
	}
	return 0;
}

int keeper_run(const struct keeper_options *o, struct err *err)
{
	struct keeper k = {.o = o, .flush_ns = o->flush_ns ? o->flush_ns : STORE_STEP_S * SECOND};
	int r = begin(&k, err);

	if (r == 0) {
		tell(&k, KEEPER_READY);
		r = work(&k, err);
	}
	if (r == 0) {
		read_rest(&k);
		k.told ? intake_end(k.intake) : intake_flush(k.intake);
	}
	http_stop(k.http);
	intake_free(k.intake);
	captures_free(k.captures);
	ring_free(k.ring);
	store_close(k.store);
	return r;
}
