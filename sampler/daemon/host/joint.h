#ifndef JS_HOST_JOINT_H
#define JS_HOST_JOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/host/stuck.h"
#include "sampler/daemon/supervise/restart.h"
#include "sampler/daemon/watch/crowd.h"

struct err;
struct rules;

/* The process that samples most targets together (crowd.h), as seen by the daemon's first process. */
struct joint {
	pid_t pid; /* 0: it does not run */
	int admit, report; /* -1: it does not run */
	struct crowd_page *page;
	struct restart restart;
	uint64_t again_ns; /* when to start it; CLOCK_MONOTONIC */
	bool ready; /* it has begun to sample */
	bool ending; /* it was told to end */
	bool refused; /* not possible here: each target has a process of its own */
	struct stuck stuck;
	uint64_t killed_ns; /* when it was killed because it was stuck; 0: it was not */
};

struct joint_options {
	uint32_t hz;
	struct rules *rules; /* borrowed */
	const char *boot_id, *host; /* borrowed */
	int (*feed)(void *ctx, uint64_t capture, int socket); /* as in struct targets */
	void *ctx;
};

int joint_init(struct joint *j, struct err *err);
void joint_done(struct joint *j);

/*
 * Starts it when it is time. Ends it if it is stuck, since a target can have pages and files whose reading never ends.
 * true: it could not be ended, and was left behind; *ret_slot: joint_at_work().
 */
bool joint_turn(struct joint *j, const struct joint_options *o, uint32_t *ret_slot);
static inline bool joint_runs(const struct joint *j)
{
	return j->pid != 0;
}

/* Has the process sampled under this number, with one in `divisor` of its samples. false: not possible now. */
bool joint_admit(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, uint32_t divisor, const char *user);
/* Changes the divisor, after a short time. false: not possible now. */
bool joint_divide(struct joint *j, pid_t pid, uint64_t start_ticks, uint32_t slot, uint32_t divisor,
		  enum broker_why why);
void joint_dismiss(struct joint *j, uint32_t slot);

/*
 * The next of its reports, which are not trusted; CROWD_ALONE, too, if a target cannot be admitted. false: there is
 * none.
 */
bool joint_report(struct joint *j, struct crowd_report *ret);

/* A child has ended. false: it was another one. Its last reports can still be read, until joint_forget(). */
bool joint_ended(struct joint *j, pid_t child);
uint32_t joint_at_work(const struct joint *j); /* the slot of the target that it says it works on; CROWD_MAX: none */
bool joint_forget(struct joint *j, int status); /* returns whether what it was working on is to blame for its end */
void joint_stop(struct joint *j, int signal);

#endif
