#include "sampler/daemon/host/capturing.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "sampler/daemon/host/keeping.h"
#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/watch/watch.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

#define SECOND_NS UINT64_C(1000000000)
#define LATE_NS (180 * SECOND_NS) /* for what it does after the last sample */

enum { ASKED_MAX = 8 /* in one turn */ };

/* --- is it allowed? --- */

static size_t running(const struct capturing *c, pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < CAPTURES_AT_ONCE; i++)
		n += c->list[i].child && (!pid || c->list[i].pid == pid);
	return n;
}

static int check(const struct capturing *c, const struct capture_request *r, struct err *err)
{
	if (!c->max)
		return err_set(err, -EPERM, "the configuration allows no captures (captures = 0)");
	if (!r->hz || r->hz > CAPTURE_HZ_MAX || !r->seconds || r->seconds > CAPTURE_SECONDS_MAX || r->pid <= 0)
		return err_set(err, -EINVAL, "it is out of range");
	if (running(c, r->pid))
		return err_set(err, -EALREADY, "another capture of PID %d is running", r->pid);
	if (running(c, 0) >= c->max)
		return err_set(err, -EBUSY, "%u captures are running already: try again when one has ended", c->max);
	return 0;
}

/* --- start --- */

static int start(struct capturing *c, const struct targets *t, const struct keeper_message *m, struct err *err)
{
	const struct capture_request *r = &m->request;
	struct own_worker_start s = {
		.kind = "capture",
		.how.hz = r->hz,
		.capture = m->capture,
		.capture_ns = r->seconds * SECOND_NS,
	};
	uint64_t now = clock_monotonic_ns();
	size_t i = 0;
	int e = check(c, r, err);

	if (e == 0)
		e = targets_find(t, r->pid, r->start, &s.who, err);
	if (e < 0)
		return e;
	while (c->list[i].child)
		i++;
	s.slot = OWN_CAPTURE + i;
	e = own_worker_start(t, &s, err);
	if (e < 0)
		return e;
	c->list[i].child = e;
	c->list[i].pid = r->pid;
	c->list[i].id = m->capture;
	c->list[i].until_ns = now + s.capture_ns + LATE_NS;
	c->list[i].killed = false;
	stuck_begin(&c->list[i].stuck, now);
	return 0;
}

void capturing_turn(struct capturing *c, const struct targets *t, struct keeping *k)
{
	struct keeper_message m;

	for (int i = 0; i < ASKED_MAX && keeping_asked(k, &m); i++) {
		struct err err = {0};

		if (start(c, t, &m, &err) < 0)
			keeping_refuse(k, m.capture, &err);
		else
			log_info("PID %d is sampled %u times a second for %u s, as requested for a capture",
				 m.request.pid, m.request.hz, m.request.seconds);
	}
}

/* --- end --- */

/* The keeper gets the reason before the feed ends. Otherwise it would take the capture for complete. */
static void give_up(struct capturing *c, size_t i, const char *why, struct keeping *k)
{
	struct err err = {0};

	err_set(&err, -EIO, "%s, and was ended", why);
	keeping_refuse(k, c->list[i].id, &err);
	log_warn("the capture of PID %d: %s", (int)c->list[i].pid, err.msg);
	kill(c->list[i].child, SIGKILL);
	c->list[i].killed = true;
}

void capturing_tend(struct capturing *c, const struct targets *t, struct keeping *k)
{
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < CAPTURES_AT_ONCE; i++) {
		uint64_t turns;

		if (!c->list[i].child || c->list[i].killed)
			continue;
		turns = atomic_load(&own_worker_page(t->own, OWN_CAPTURE + i)->turns);
		if (stuck_look(&c->list[i].stuck, c->list[i].child, true, turns, now))
			give_up(c, i, "the process that samples for it was stuck", k);
		else if (now >= c->list[i].until_ns)
			give_up(c, i, "the process that samples for it did not end in time", k);
	}
}

bool capturing_ended(struct capturing *c, const struct targets *t, pid_t child, int status)
{
	for (size_t i = 0; i < CAPTURES_AT_ONCE; i++) {
		if (c->list[i].child != child)
			continue;
		c->list[i].child = 0;
		own_worker_ended(t->own, OWN_CAPTURE + i);
		if (WIFSIGNALED(status) && !c->list[i].killed)
			log_warn("the capture of PID %d has ended unexpectedly (signal %d)", (int)c->list[i].pid,
				 WTERMSIG(status));
		return true;
	}
	return false;
}

void capturing_stop(const struct capturing *c, int signal)
{
	for (size_t i = 0; i < CAPTURES_AT_ONCE; i++)
		if (c->list[i].child)
			kill(c->list[i].child, signal);
}

size_t capturing_children(const struct capturing *c, pid_t ret[CAPTURES_AT_ONCE])
{
	size_t n = 0;

	for (size_t i = 0; i < CAPTURES_AT_ONCE; i++)
		if (c->list[i].child)
			ret[n++] = c->list[i].child;
	return n;
}
