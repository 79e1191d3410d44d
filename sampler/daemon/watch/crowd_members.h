#ifndef JS_WATCH_CROWD_MEMBERS_H
#define JS_WATCH_CROWD_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/broker.h"
#include "sampler/closing/closing.h"
#include "sampler/daemon/watch/crowd.h"
#include "sampler/daemon/watch/feed_out.h"
#include "sampler/daemon/watch/watch.h"
#include "sampler/daemon/watch/watched.h"
#include "sampler/engine/perf/perf_host.h"
#include "symbolizer/base/budget.h"

/* The crowd's targets, each from its admission to its last report to the keeper. Private to crowd.c and crowd_members.c. */
struct member {
	struct watched w;
	struct session *session;
	uint32_t slot, divisor;
	uint32_t next_divisor; /* of samples from change_ns on (CLOCK_MONOTONIC); 0: as before */
	uint64_t change_ns;
	uint32_t before; /* the divisor of samples before changed_ns, which may be delivered after the change */
	uint64_t changed_ns;
	uint32_t change_why; /* enum broker_why */
	uint64_t cost_ns, cost_told_ns; /* CPU time spent on it; the part that was reported to the first process */
	bool identified, over;
	uint32_t taken; /* the divisor of the latest sample since the last profile; 0: there was none */
	bool mixed; /* its samples have different ones; each has its weight */
	uint64_t doubtful; /* samples that may be another program's */
	char user[sizeof(((struct broker_admission *)0)->note)];
};

struct crowd {
	const struct crowd_options *o;
	struct feed_out out;
	struct budget_pool files;
	struct perf_host *host;
	struct session_hosting *hosting;
	struct closing closing;
	int admitted; /* from the broker */
	struct member *by_slot[CROWD_MAX];
	uint32_t slots[CROWD_MAX], n; /* of the members */
	struct member *at_work; /* since at_ns of this thread's CPU time */
	uint64_t at_ns;
	uint64_t look_ns; /* when to look at the members; CLOCK_MONOTONIC */
	uint64_t steps_ns; /* when a step ends; CLOCK_MONOTONIC */
	uint64_t trim_ns; /* when to give memory back; CLOCK_MONOTONIC */
	uint32_t mapped; /* CROWD_MAPPED since the last look */
	uint64_t idle_ns; /* when to log which rules have applied to no JVM; 0: no JVM is known, UINT64_MAX: logged */
	uint64_t late; /* samples of members that had ended, or that may be another program's, so far */
	struct {
		struct crowd_lost reported, said; /* to the first process; in the log and to the keeper */
		uint64_t checked; /* records that were lost when members were last looked at because of that */
		uint64_t say_ns, check_ns; /* when the next time may be; CLOCK_MONOTONIC */
	} losses; /* private to crowd_losses.c */
	enum watch_status status;
};

struct member *member_find(const struct crowd *c, pid_t pid); /* NULL: none */
/* Starts sampling it. If that fails, reports to the first process that this one cannot sample it. */
void member_admit(struct crowd *c, const struct broker_admission *a);
void member_look(struct crowd *c, struct member *m); /* of one that is not identified: is it time for that? */
void member_end_step(struct crowd *c, struct member *m);
void member_end(struct crowd *c, struct member *m); /* m is freed */
/* Notes a change of the divisor that is yet to come. */
void member_announce_divisor(struct crowd *c, struct member *m, const struct broker_admission *a);
uint32_t member_divisor_at(struct crowd *c, struct member *m, uint64_t time_ns); /* of samples of that time */
void member_took(struct member *m, uint32_t divisor); /* a sample of its session had that */
void member_tell_cost(const struct crowd *c, struct member *m);

/* From now on, this thread works for that target; m NULL: for none. */
void crowd_work_on(struct crowd *c, struct member *m);
void crowd_report(const struct crowd *c, const struct member *m, enum crowd_report_what what);

#endif
