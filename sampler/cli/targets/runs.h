#ifndef JS_CLI_RUNS_H
#define JS_CLI_RUNS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/session.h"

struct err;
struct named_profile;

/*
 * Sessions of one or more processes, each in its own thread, which run until all have ended or runs_stop() is called.
 */
struct runs;

int runs_open(const pid_t *pids, size_t n, const struct session_options *o, struct runs **ret, struct err *err);
/* Starts sampling and the threads. Block signals first, because threads inherit the mask. */
int runs_start(struct runs *r, uint64_t duration_ns, struct err *err);
int runs_done_fd(const struct runs *r); /* readable when all sessions have ended */
void runs_stop(struct runs *r);
/*
 * Leaves out the sessions that have not ended because their threads hang, with a message for each. Returns how many
 * remain; if 0, none is left out. Sessions left out cannot be closed: after writing the results, the program must
 * call _exit(2).
 */
size_t runs_abandon(struct runs *r);
/* Waits for the threads. Returns the first error of a session, if any. */
int runs_join(struct runs *r, struct err *err);
/*
 * Adds up the results of all sessions; the caller frees *ret. each: NULL, or an array for one profile per process, in
 * their order, which the caller also frees (NULL: left out, or it or an earlier one failed).
 */
int runs_result(struct runs *r, struct named_profile **each, struct named_profile **ret, struct err *err);
void runs_end_naming(struct runs *r); /* callable from any thread: session_end_naming() for all */
/* After naming; only runs_summary() and runs_close() may be called afterwards. */
void runs_forget_stacks(struct runs *r);
struct session_summary runs_summary(const struct runs *r); /* after the join */
struct session_live runs_live(const struct runs *r); /* the sum */
void runs_close(struct runs *r);

#endif
