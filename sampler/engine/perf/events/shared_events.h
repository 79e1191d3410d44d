#ifndef JS_ENGINE_SHARED_EVENTS_H
#define JS_ENGINE_SHARED_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct perf_config;

/*
 * Events on the CPUs for several targets of one run. A CPU then has one timer for each size of stack copies in use,
 * instead of one for each target. The filter passes the samples of all members (perf_filter.h, IDs of the initial PID
 * namespace), and whoever reads the rings sorts them into the members' inboxes. For any thread, except that each inbox
 * has one reader.
 */
struct shared_events;
struct shared_member; /* a target, which takes part at times */

enum { SHARED_SIZES = 4 };

/* `sizes`: of stack copies, at most SHARED_SIZES. 0; -errno: not possible here (no eBPF, or not permitted). */
int shared_events_open(const struct perf_config *c, const uint32_t *sizes, size_t n, struct shared_events **ret,
		       struct err *err);
void shared_events_close(struct shared_events *s); /* after its members */

/* One per CPU: readable when a quarter of its ring is used. Borrowed. */
const int *shared_events_poll_fds(const struct shared_events *s);
/* Moves what is in the rings to the inboxes. */
void shared_events_pull(struct shared_events *s);

/* -EINVAL: its events on these CPUs would write other records. */
int shared_member_new(struct shared_events *s, pid_t pid, const struct perf_config *c, const int *cpus, size_t n_cpus,
		      struct shared_member **ret);
void shared_member_free(struct shared_member *m); /* leaves first */

bool shared_member_can_join(const struct shared_member *m, uint32_t stack_bytes);
/* Samples the process from now on, with copies of that size; also if it has joined with another size. */
void shared_member_join(struct shared_member *m, uint32_t stack_bytes);
void shared_member_leave(struct shared_member *m); /* its earlier samples still come */
/* Leaves out a thread of the process, which has events of its own. */
void shared_member_skip(const struct shared_member *m, pid_t tid, bool skip);

/* A record of the member, oldest first for each CPU. */
struct shared_record {
	uint64_t time_ns;
	uint32_t ring; /* index of the CPU */
	uint32_t len; /* of the bytes that follow */
};
const struct shared_record *shared_member_peek(struct shared_member *m); /* NULL: none */
void shared_member_release(struct shared_member *m); /* the record that was looked at */
uint64_t shared_member_lost(const struct shared_member *m); /* its samples that found no room, most likely */

#endif
