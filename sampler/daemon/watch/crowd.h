#ifndef JS_WATCH_CROWD_H
#define JS_WATCH_CROWD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/broker.h"

struct rules;

/*
 * The process that samples all targets, except those that have a process of their own (watch.h), with one set of events
 * for the host. The daemon's first process decides which targets these are, with messages to this process's broker,
 * which passes them on.
 */
enum { CROWD_MAX = BROKER_SLOTS };

/*
 * Shared with the first process: which target this process is working on, to know which one to blame if it ends or gets
 * stuck.
 */
struct crowd_page {
	_Atomic uint32_t slot; /* plus 1; 0: none */
	_Atomic uint64_t turns; /* changes with each piece of work */
};

/* From this process to the first one. */
enum crowd_report_what {
	CROWD_LEFT_OUT = 1, /* by a rule */
	CROWD_ALONE, /* should have a process of its own; if a rule wants that: with `hz` and `suspend`, otherwise these are 0 */
	CROWD_GONE, /* had ended before it could be sampled */
	CROWD_EXEC, /* has executed another program, and has to be found anew */
	CROWD_READY, /* this process has begun; `slot` and `pid` are 0 */
	CROWD_COST, /* its cost so far: cpu_ns */
	CROWD_MAPPED, /* another process may have become a JVM: `pid`; 0: any may, since not all were reported */
	CROWD_RULE, /* what the rules want of it: `hz`, which is not more than of the others, and `wall` */
	CROWD_LOST, /* `lost`: since the last report of this kind; `slot` and `pid` are 0 */
};

/* What was not counted for any target. */
struct crowd_lost {
	uint64_t samples; /* for which there was no room */
	uint64_t records; /* side-band records; at least */
	uint64_t ended; /* samples of threads that had just ended: it is not known of which process (perf_host.h) */
	uint64_t late; /* samples that were read when their process had ended, or was another program */
};

struct crowd_report {
	uint32_t what, slot, hz, suspend, wall;
	int32_t pid;
	uint64_t cpu_ns; /* of this process */
	struct crowd_lost lost;
};

struct crowd_options {
	int admit; /* channel_pair(): BROKER_ADMIT with the user's name as its note, and BROKER_DISMISS; answered by BROKER_REFUSED */
	int report; /* channel_pair(): struct crowd_report */
	int feed; /* socket to the keeper */
	uint32_t hz;
	struct rules *rules; /* borrowed */
	const char *boot_id, *host; /* borrowed */
	struct crowd_page *page;
};

/*
 * To be called in a child that has one thread and no descriptors but stdio and these. Returns an exit status of enum watch_status:
 * WATCH_FAILED: not possible here, which was logged.
 */
int crowd_run(const struct crowd_options *o);

#endif
