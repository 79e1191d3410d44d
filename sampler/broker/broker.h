#ifndef JS_BROKER_BROKER_H
#define JS_BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/protocol.h"

struct err;
struct mapping;

/*
 * The privileged end: a child process that keeps the rights over this run's targets when the program gives them up. It
 * opens what protocol.h names, and passes the descriptors. It does not read what it passes, and knows nothing of ELF,
 * HotSpot or profiles.
 *
 * A target is the process that existed when it was added: a later process with the same PID gives -ESRCH. A target that
 * was not root's when it was added and has other IDs now (it has executed a setuid program) gives -EPERM.
 */
struct broker;

/*
 * follow: processes that have lost their parent are allowed, too, if they have a target's user and cgroup, and are
 * younger than it; otherwise only descendants of a target are. NULL: out of memory.
 */
struct broker *broker_new(bool follow);

/* Call before broker_start(). *ret: the target's number. -ESRCH: no such process; -E2BIG: too many. command: the
 * process was started here, and may be sent signals. */
int broker_add_target(struct broker *b, pid_t pid, bool command, uint32_t *ret, struct err *err);

/*
 * A command whose parent is the broker: if Yama's ptrace_scope is 1, only ancestors of a process may read its memory.
 * These functions are called in the broker.
 */
struct broker_command {
	int (*start)(void *ctx, pid_t *ret); /* the command inherits all descriptors of this process. 0 or -errno */
	int (*watch)(void *ctx); /* may start a thread. 0 or -errno */
	void (*end)(void *ctx); /* the last call */
	void *ctx;
	int keep; /* a descriptor that stays open */
};

/* Instead of broker_add_target(); call before broker_start(). */
void broker_starts(struct broker *b, const struct broker_command *c);

/* Forks. drop: what the child calls first; NULL: nothing. Call while single-threaded. 0 or -errno. */
int broker_start(struct broker *b, int (*drop)(struct err *err), struct err *err);

/*
 * From here on, this process asks the broker for everything that belongs to other processes
 * (symbolizer/target/deputy.h). b lives until the process ends. Call while single-threaded. 0 or -errno.
 */
int broker_use(struct broker *b, struct err *err);

/*
 * Requests, from any thread. They return 0, a descriptor that the caller owns, or -errno: -ESRCH: the process or
 * thread has ended; -EACCES, -EPERM: the target does not let us read it, or the request is against the rules; -EPIPE:
 * the broker has ended.
 */
int broker_find(struct broker *b, pid_t pid, uint32_t *ret, int *ret_pidfd);
int broker_proc(struct broker *b, uint32_t target, enum broker_name name);
int broker_task(struct broker *b, uint32_t target, pid_t tid, enum broker_name name);
int broker_mapped(struct broker *b, uint32_t target, const struct mapping *map);
int broker_path(struct broker *b, uint32_t target, const char *path);
int broker_host_path(struct broker *b, const char *path);
int broker_signal(struct broker *b, int signal);
/* As struct deputy's events(). */
int broker_events(struct broker *b, const struct perf_event_attr *attr, const struct event_place *places, size_t n,
		  int filter_fd, int *fds, size_t *ret_opened);

/*
 * Targets that come and go while the broker runs. `from`: a socket (channel_pair()) on which a process that has the
 * right to do so admits and dismisses targets. Both are passed on to `to`; if a target cannot be admitted, the sender
 * gets an answer. A slot is a number that the sender chooses.
 */
enum { BROKER_SLOTS = 1024 };

enum broker_admission_what {
	BROKER_ADMIT =
		1, /* the process with this PID and start time; if already admitted: changes its divisor from at_ns on */
	BROKER_DISMISS, /* the target with that slot */
	BROKER_REFUSED, /* answer: `code` */
};

enum broker_why { BROKER_WHY_CPU, BROKER_WHY_RULE, BROKER_WHY_LOST }; /* cpu_limit; a rule; samples were lost */

/* For the log and events, which tell of rules in another way. */
static inline const char *broker_why_text(uint32_t why)
{
	return why == BROKER_WHY_LOST ? "samples were lost" : "cpu_limit";
}

struct broker_admission {
	uint32_t what; /* enum broker_admission_what */
	int32_t pid;
	uint32_t slot, divisor;
	uint64_t start_ticks; /* since boot */
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	int32_t code; /* a negative errno */
	char note[64]; /* passed on; ends with a NUL */
	uint32_t why; /* enum broker_why: what has caused the new divisor; passed on */
};

struct broker_admissions {
	int from, to; /* borrowed until broker_start(), as everything here */
	/* Called in the broker, to start and stop sampling of the process. 0 or -errno. */
	int (*set)(void *ctx, pid_t pid, uint32_t slot, uint32_t divisor);
	int (*change)(void *ctx, pid_t pid, uint32_t slot, uint32_t divisor); /* for a process that is still sampled */
	void (*remove)(void *ctx, pid_t pid);
	void *ctx;
	int keep; /* a descriptor that stays open; negative: none */
};

/* Call before broker_start(). */
void broker_admit_from(struct broker *b, const struct broker_admissions *a);

int broker_socket(const struct broker *b); /* for tests */

/* Ends the child and waits for it, but not forever: it may hang in a target's file. NULL is fine. */
void broker_free(struct broker *b);

#endif
