#ifndef JS_HOST_OWN_WORKER_H
#define JS_HOST_OWN_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/watch/watch.h"

struct err;

/* By slot: that of a target, OWN_WALL and that of a target, or OWN_CAPTURE and the number of a capture. */
enum { OWN_WALL = TARGETS_MAX, OWN_CAPTURE = 2 * TARGETS_MAX, OWN_WORKERS_MAX = OWN_CAPTURE + CAPTURES_AT_ONCE };

/*
 * The processes that sample one target each, and how much memory their targets may cost. Each shares one page with the
 * first process, which does not trust it, and no memory with other workers.
 */
struct own_workers;

struct own_workers *own_workers_new(void); /* NULL: out of memory */
void own_workers_free(struct own_workers *w);

/*
 * Divides the memory that no worker uses among all of them. One gets a quarter of all at most, and as long as it runs
 * it keeps OWN_ROOM_BYTES, whatever the others do. To be called once a second.
 */
#define OWN_ROOM_BYTES (UINT64_C(16) << 20)
void own_workers_divide(struct own_workers *w);

struct watch_page *own_worker_page(const struct own_workers *w, size_t slot);

struct own_worker_start {
	size_t slot;
	const char *kind; /* its name in ps(1) is this and the PID of the target */
	const struct scan_found *who;
	struct watch_how how;
	uint64_t capture, capture_ns; /* its number and how long it takes; 0: for the history */
};

/*
 * Starts a process that samples one target (watch_run()), and ends when this process ends. Returns its PID; -EBUSY: the
 * others take as much memory as they may; -EPIPE: the keeper is restarted soon; or another -errno. err says why.
 */
pid_t own_worker_start(const struct targets *t, const struct own_worker_start *s, struct err *err);
void own_worker_ended(struct own_workers *w, size_t slot); /* its memory is free again */

/* For own_worker_start() and tests. false: there is not enough. */
bool own_worker_reserve(struct own_workers *w, size_t slot);

#endif
