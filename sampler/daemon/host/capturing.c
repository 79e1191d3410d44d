#include "sampler/daemon/host/capturing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/daemon/host/keeping.h"
#include "sampler/daemon/host/own_worker.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/watch/watch.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/user_name.h"

#define SECOND_NS UINT64_C(1000000000)

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

static int fork_capture(const struct targets *t, size_t number, const struct scan_found *f,
			const struct capture_request *r, int feed, pid_t *ret, struct err *err)
{
	char user[64], name[16];
	const struct watch_options o = {
		.pid = f->pid,
		.start_ticks = f->start_ticks,
		.feed = feed,
		.how.hz = r->hz,
		.capture_ns = r->seconds * SECOND_NS,
		.rules = t->rules,
		.boot_id = t->boot_id,
		.host = t->host,
		.user = user,
	};

	user_name(f->uid, user, sizeof(user));
	snprintf(name, sizeof(name), "capture %d", (int)f->pid);
	*ret = own_worker_fork(t->own, OWN_CAPTURE + number, o, name);
	return *ret < 0 ? err_set(err, -errno, "no process can be started: %m") : 0;
}

static int start(struct capturing *c, const struct targets *t, struct keeping *k, const struct keeper_message *m,
		 struct err *err)
{
	const struct capture_request *r = &m->request;
	const struct scan_found *f = NULL;
	int feed[2], e = check(c, r, err);
	size_t i = 0;

	if (e == 0)
		e = targets_find(t, r->pid, r->start, &f, err);
	if (e == 0 && !own_workers_room(t->own))
		e = err_set(err, -EBUSY,
			    "other captures, and JVMs that are sampled apart, take as much memory as they may");
	if (e == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, feed) < 0)
		e = err_set(err, -errno, "no socket: %m");
	if (e < 0)
		return e;
	while (c->list[i].child)
		i++;
	e = fork_capture(t, i, f, r, feed[1], &c->list[i].child, err);
	if (e == 0) {
		c->list[i].id = m->capture;
		c->list[i].pid = r->pid;
		(void)keeping_feed(k, m->capture, feed[0]); /* if the keeper has just ended, so will the capture */
	} else {
		c->list[i].child = 0;
	}
	close(feed[0]);
	close(feed[1]);
	return e;
}

void capturing_turn(struct capturing *c, const struct targets *t, struct keeping *k)
{
	struct keeper_message m;

	for (int i = 0; i < ASKED_MAX && keeping_asked(k, &m); i++) {
		struct err err = {0};

		if (start(c, t, k, &m, &err) < 0)
			keeping_refuse(k, m.capture, &err);
		else
			log_info("PID %d is sampled %u times a second for %u s, as requested for a capture",
				 m.request.pid, m.request.hz, m.request.seconds);
	}
}

/* --- end --- */

bool capturing_ended(struct capturing *c, const struct targets *t, pid_t child, int status)
{
	for (size_t i = 0; i < CAPTURES_AT_ONCE; i++) {
		if (c->list[i].child != child)
			continue;
		c->list[i].child = 0;
		own_worker_ended(t->own, OWN_CAPTURE + i);
		if (WIFSIGNALED(status))
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
