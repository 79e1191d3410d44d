#ifndef JS_HOST_OWN_WORKER_H
#define JS_HOST_OWN_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/watch/watch.h"
#include "symbolizer/base/budget.h"

/* By slot: that of a target, OWN_WALL and that of a target, or OWN_CAPTURE and the number of a capture. */
enum { OWN_WALL = TARGETS_MAX, OWN_CAPTURE = 2 * TARGETS_MAX, OWN_WORKERS_MAX = OWN_CAPTURE + CAPTURES_AT_ONCE };

/* Memory that the processes that sample one target each share with the first process, which does not trust it. */
struct own_workers {
	struct {
		struct budget_pool files; /* what their targets may cost all together */
		_Atomic uint64_t accounts[OWN_WORKERS_MAX]; /* of `files` */
	} * all; /* shared by all of them */
	char *pages; /* by slot: one that no other worker has mapped */
};

struct own_workers *own_workers_new(void); /* NULL: out of memory */
void own_workers_free(struct own_workers *w);

/* What the worker wants: it must not be able to ask in the name of others. */
struct watch_how *own_worker_wanted(const struct own_workers *w, size_t slot);

/* Is there memory for one more? Otherwise it is not to be started now. */
bool own_workers_room(const struct own_workers *w);

/*
 * Forks a process that samples one target (watch_run()). It is called `name` in ps(1), and ends when this process ends.
 * o.feed still belongs to the caller; what is shared is filled in. Returns its PID, or -1 and errno.
 */
pid_t own_worker_fork(struct own_workers *w, size_t slot, struct watch_options o, const char *name);
void own_worker_ended(struct own_workers *w, size_t slot); /* it holds no memory any more */

#endif
