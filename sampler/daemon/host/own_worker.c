#include "sampler/daemon/host/own_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/daemon/host/child.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/shared_memory.h"
#include "symbolizer/base/user_name.h"

/*
 * ALL_BYTES: twice the limit for all targets that are sampled together (readers.h). This leaves 800 MB of the unit's
 * MemoryMax= for samples and for the keeper.
 */
#define ALL_BYTES (UINT64_C(832) << 20)
#define ONE_BYTES (ALL_BYTES / 4)

enum { PAGE = 4096 };
_Static_assert(sizeof(struct watch_page) <= PAGE, "each worker has a page of its own");

struct own_workers {
	char *pages; /* by slot; hidden from all processes but the slot's */
	uint64_t rest; /* of ALL_BYTES: given to no worker */
	uint64_t granted[OWN_WORKERS_MAX]; /* 0: there is no such worker */
};

struct own_workers *own_workers_new(void)
{
	struct own_workers *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->rest = ALL_BYTES;
	w->pages = shared_memory_new((size_t)OWN_WORKERS_MAX * PAGE);
	if (!w->pages) {
		free(w);
		return NULL;
	}
	shared_memory_hide(w->pages, (size_t)OWN_WORKERS_MAX * PAGE);
	return w;
}

void own_workers_free(struct own_workers *w)
{
	if (w)
		shared_memory_free(w->pages, (size_t)OWN_WORKERS_MAX * PAGE);
	free(w);
}

struct watch_page *own_worker_page(const struct own_workers *w, size_t slot)
{
	return (struct watch_page *)(void *)(w->pages + slot * PAGE);
}

/* --- memory --- */

/* What a worker does not use at present, beyond OWN_ROOM_BYTES. It may say anything: that concerns only what it has. */
static uint64_t spare(const struct own_workers *w, size_t slot)
{
	uint64_t left = atomic_load(&own_worker_page(w, slot)->files.bytes_left), most;

	most = w->granted[slot] > OWN_ROOM_BYTES ? w->granted[slot] - OWN_ROOM_BYTES : 0;
	return left < most ? left : most;
}

static void take_back(struct own_workers *w, size_t slot, uint64_t bytes)
{
	_Atomic uint64_t *left = &own_worker_page(w, slot)->files.bytes_left;
	uint64_t now = atomic_load(left);

	/* Tried once, since a worker could change it all the time. */
	if (now < bytes || !atomic_compare_exchange_strong(left, &now, now - bytes))
		return;
	w->granted[slot] -= bytes;
	w->rest += bytes;
}

static void give(struct own_workers *w, size_t slot, uint64_t bytes)
{
	uint64_t most = ONE_BYTES - w->granted[slot];

	if (bytes > most)
		bytes = most;
	if (bytes > w->rest)
		bytes = w->rest;
	atomic_fetch_add(&own_worker_page(w, slot)->files.bytes_left, bytes);
	w->granted[slot] += bytes;
	w->rest -= bytes;
}

/* Of what is free, `aside` is not given out. */
static void divide(struct own_workers *w, size_t parts, uint64_t aside)
{
	uint64_t all = w->rest, part;

	for (size_t i = 0; i < OWN_WORKERS_MAX; i++) {
		all += w->granted[i] ? spare(w, i) : 0;
		parts += w->granted[i] != 0;
	}
	if (!parts || all < aside)
		return;
	part = (all - aside) / parts;
	/* Each is read once, since a worker could change it meanwhile. */
	for (size_t i = 0; i < OWN_WORKERS_MAX; i++) {
		uint64_t has = w->granted[i] ? spare(w, i) : 0;

		if (has > part)
			take_back(w, i, has - part);
	}
	for (size_t i = 0; i < OWN_WORKERS_MAX; i++) {
		uint64_t has = w->granted[i] ? spare(w, i) : part;

		if (has < part && w->rest > aside)
			give(w, i, part - has);
	}
}

void own_workers_divide(struct own_workers *w)
{
	divide(w, 0, 0);
}

bool own_worker_reserve(struct own_workers *w, size_t slot)
{
	struct watch_page *p = own_worker_page(w, slot);

	divide(w, 1, OWN_ROOM_BYTES);
	if (w->rest < OWN_ROOM_BYTES)
		return false;
	*p = (struct watch_page){.files.most = ONE_BYTES};
	give(w, slot, w->rest);
	return true;
}

void own_worker_ended(struct own_workers *w, size_t slot)
{
	w->rest += w->granted[slot];
	w->granted[slot] = 0;
}

/* --- starting --- */

static bool own(const void *ctx, int fd)
{
	return fd <= STDERR_FILENO || fd == *(const int *)ctx;
}

static _Noreturn void child_main(const struct watch_options *o, const char *name, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(WATCH_ENDED);
	child_begin(name, own, &o->feed);
	child_goes_first();
	_exit(watch_run(o));
}

static pid_t start(const struct targets *t, const struct own_worker_start *s, int feed)
{
	char user[64], name[16];
	const struct watch_options o = {
		.pid = s->who->pid,
		.start_ticks = s->who->start_ticks,
		.feed = feed,
		.how = s->how,
		.capture_ns = s->capture_ns,
		.rules = t->rules,
		.boot_id = t->boot_id,
		.host = t->host,
		.user = user,
		.page = own_worker_page(t->own, s->slot),
	};
	pid_t parent = getpid(), child;

	user_name(s->who->uid, user, sizeof(user));
	snprintf(name, sizeof(name), "%s %d", s->kind, (int)s->who->pid);
	child = shared_memory_fork(o.page, PAGE);
	if (child == 0)
		child_main(&o, name, parent);
	return child < 0 ? -errno : child;
}

/* The keeper gets its end of the feed first: what the worker sends would be lost otherwise. */
pid_t own_worker_start(const struct targets *t, const struct own_worker_start *s, struct err *err)
{
	int feed[2];
	pid_t r;

	if (!own_worker_reserve(t->own, s->slot))
		return err_set(err, -EBUSY,
			       "captures, and JVMs that have a process of their own, take as much memory as they may");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, feed) < 0) {
		r = err_set(err, -errno, "no socket: %m");
	} else {
		r = t->feed(t->ctx, s->capture, feed[0]);
		if (r < 0)
			err_set(err, r, "the process that keeps the history does not run");
		else if ((r = start(t, s, feed[1])) < 0)
			err_set(err, r, "no process can be started: %m");
		close(feed[0]);
		close(feed[1]);
	}
	if (r < 0)
		own_worker_ended(t->own, s->slot);
	return r;
}
