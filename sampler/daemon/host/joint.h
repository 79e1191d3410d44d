#ifndef JS_HOST_JOINT_H
#define JS_HOST_JOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/supervise/restart.h"
#include "sampler/daemon/watch/crowd.h"

struct err;
struct rules;

/* The process that samples most targets together (crowd.h), as the daemon's first process knows it. */
struct joint {
	pid_t pid; /* 0: it does not run */
	int admit, report; /* -1: it does not run */
	struct crowd_page *page;
	struct restart restart;
	uint64_t again_ns; /* when to start it; CLOCK_MONOTONIC */
	bool ready; /* it has begun to sample */
	bool refused; /* not possible here: each target has a process of its own */
	/* Of the page, and of its main thread; since when nothing has changed, and since when no CPU time was used either. */
	uint64_t turns, cpu_ns, since_ns, idle_ns;
	uint64_t killed_ns; /* because it was stuck; 0: it was not */
};

struct joint_options {
	uint32_t hz;
	struct rules *rules; /* borrowed */
	const char *boot_id, *host; /* borrowed */
	/* Passes the socket of a new worker to the keeper. 0 or -errno. */
	int (*feed)(void *ctx, int socket);
	void *ctx;
};

int joint_init(struct joint *j, struct err *err);
void joint_done(struct joint *j);

/*
 * Starts it when it is time. Ends it if it is stuck in a piece of work: a target can have pages and files that never come. true: it could not even be
 * ended, and is left behind; *ret_slot as in joint_ended().
 */
bool joint_turn(struct joint *j, const struct joint_options *o, int *ret_slot);
static inline bool joint_runs(const struct joint *j)
{
	return j->pid != 0;
}

/* The process is to be sampled under this number, one in `divisor` of its samples. false: not now. */
bool joint_admit(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, uint32_t divisor, const char *user);
/* From soon on with another divisor. false: not now. */
bool joint_divide(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, uint32_t divisor);
void joint_dismiss(struct joint *j, uint32_t slot);

/* The next of its reports, which are not believed; CROWD_ALONE, too, if it cannot be admitted. false: there is none. */
bool joint_report(struct joint *j, struct crowd_report *ret);

/* A child has ended. false: it was another one. *ret_slot: whose work it was at, if that is to blame; -1: nobody's. */
bool joint_ended(struct joint *j, pid_t child, int status, int *ret_slot);
void joint_stop(struct joint *j, int signal);

#endif
