#ifndef JS_HOST_TARGETS_H
#define JS_HOST_TARGETS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/host/joint.h"
#include "sampler/daemon/host/scan.h"
#include "sampler/daemon/http/daemon_state.h"

struct own_workers;
struct quarantine;
struct rules;

/* The JVMs of this host and their workers: one worker samples all of them, except those that need one of their own. */
enum { TARGETS_MAX = 500, TARGETS_OF_USER = TARGETS_MAX / 2 };

struct targets {
	struct target *list;
	size_t n;
	struct own_workers *own; /* of those that have a worker of their own, and of captures */
	uint64_t slots[TARGETS_MAX / 64 + 1]; /* taken */
	struct quarantine *quarantine, *wall_quarantine; /* wall: only waiting threads are left out */
	struct governor *governor; /* of those that are sampled together, by slot; NULL: there are none yet */
	struct rules *rules; /* borrowed */
	uint32_t hz;
	uint64_t cpu_limit; /* of the whole daemon, in millionths of a core */
	char boot_id[40], host[65];
	bool full, full_of_user; /* this was logged */
	bool isolate; /* each has a worker of its own */
	struct joint joint;
	struct crowd_lost lost; /* by all processes that have sampled targets together */
	int ends; /* epoll(7): the pidfds of all targets; data: the slot */
	/* Passes the socket of a new worker to the keeper. capture: for which one; 0: the history. 0 or -errno. */
	int (*feed)(void *ctx, uint64_t capture, int socket);
	/*
	 * The process is another program now, or may have become a JVM: look at it again soon. pid 0: any process may have
	 * become one. told: so says the worker, which any program can cause.
	 */
	void (*again)(void *ctx, pid_t pid, bool told);
	void *ctx;
};

int targets_init(struct targets *t, struct err *err);
void targets_done(struct targets *t);
/*
 * Starts sampling the process, unless it is sampled already, left out by a rule, or in quarantine. Returns whether it is
 * in the list until it ends or again() is called for it; otherwise there is no room.
 */
bool targets_found(struct targets *t, const struct scan_found *f);
/*
 * Finds the target with this PID, for a capture. start: its start time as in the history (programs.h); 0: any. -ESRCH,
 * -EPERM: it may not be sampled; err says why.
 */
int targets_find(const struct targets *t, pid_t pid, uint64_t start, const struct scan_found **ret, struct err *err);
/* A child has ended. false: it was not a worker. */
bool targets_ended(struct targets *t, pid_t child, int status);
/* Starts workers for targets that wait for one, and forgets targets that have ended. */
void targets_turn(struct targets *t);
/* Ends processes of single targets that are stuck, and divides memory among these. To be called once a second. */
void targets_tend(struct targets *t);
/*
 * Decides how often targets are sampled. To be called once a second if targets_govern_due(), with the CPU time of all
 * processes of the daemon so far.
 */
void targets_govern(struct targets *t, uint64_t own_cpu_ns);
bool targets_govern_due(const struct targets *t);
/* Tells the worker what the governor and rules want. To be called once a second. */
void targets_announce(struct targets *t);
/* How many targets are sampled, and the state of the governor. */
void targets_numbers(const struct targets *t, struct daemon_numbers *ret);
enum { TARGETS_FDS = 2 };
/* For when targets_turn() has something to do. */
void targets_poll(const struct targets *t, struct pollfd ret[TARGETS_FDS]);
/* Does a worker run that tells again() of processes that become JVMs? */
bool targets_told(const struct targets *t);
/* hz, rules or isolate have changed: all processes that sample are started anew. */
void targets_configured(struct targets *t);
void targets_stop(struct targets *t, int signal); /* sends it to all workers */
size_t targets_running(const struct targets *t);
bool targets_any_own(const struct targets *t); /* does a process run that samples one target only? */

#endif
