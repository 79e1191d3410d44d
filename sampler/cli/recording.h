#ifndef JS_CLI_RECORDING_H
#define JS_CLI_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/session.h"

struct err;
struct named_profile;

/*
 * Sessions over one or more processes, each in a thread of its own, run until all have ended or
 * recording_stop() was called.
 */
struct recording;

int recording_open(const pid_t *pids, size_t n, const struct session_options *o,
		   struct recording **ret, struct err *err);
/* Starts sampling and the threads. Signals must be blocked before: the threads inherit the mask. */
int recording_start(struct recording *r, uint64_t duration_ns, struct err *err);
int recording_done_fd(const struct recording *r); /* readable when all sessions have ended */
void recording_stop(struct recording *r);
/* Waits for the threads. The first error of a session, if any. */
int recording_join(struct recording *r, struct err *err);
/* All sessions' results in one profile; the caller's. */
int recording_result(struct recording *r, struct named_profile **ret, struct err *err);
struct session_summary recording_summary(const struct recording *r); /* after the join */
uint64_t recording_live_samples(const struct recording *r);
void recording_close(struct recording *r);

#endif
