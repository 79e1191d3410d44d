#ifndef JS_BROKER_BROKER_H
#define JS_BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/protocol.h"

struct err;

/*
 * The privileged end: a child process that keeps the rights over this run's targets when the program gives them up, opens what
 * protocol.h names, and passes the descriptors. What it passes it does not read. It knows nothing of ELF, of HotSpot, of profiles.
 *
 * A target is the process that was there when it was added: what has its PID later is another one, and gives -ESRCH. One
 * that was not root's when it was added, and has other ids now (it has executed a setuid program), gives -EPERM.
 */
struct broker;

/*
 * follow: processes without their parent, too, if they are of a target's user, in its cgroup, and younger than it; else only what descends
 * from a target. NULL: out of memory.
 */
struct broker *broker_new(bool follow);

/* Before broker_start(). *ret: its number. -ESRCH: no such process; -E2BIG: too many. command: it was started here, and may be sent signals. */
int broker_add_target(struct broker *b, pid_t pid, bool command, uint32_t *ret, struct err *err);

/* Forks. drop: what the child does first; NULL: nothing. Call with one thread. 0 or -errno. */
int broker_start(struct broker *b, int (*drop)(struct err *err), struct err *err);

/*
 * From here on, this process asks the broker for all that belongs to other processes (symbolizer/target/deputy.h). b lives
 * until the process ends. Call with one thread. 0 or -errno.
 */
int broker_appoint(struct broker *b, struct err *err);

/*
 * Requests, from any thread. 0 or a descriptor, the caller's, or -errno: -ESRCH: the process or thread has ended; -EACCES, -EPERM:
 * the target does not let us read it, or the request is against the rules; -EPIPE: the broker has ended.
 */
int broker_find(struct broker *b, pid_t pid, uint32_t *ret, int *ret_pidfd);
int broker_proc(struct broker *b, uint32_t target, enum broker_name name);
int broker_task(struct broker *b, uint32_t target, pid_t tid, enum broker_name name);
int broker_mapped(struct broker *b, uint32_t target, uint64_t start);
int broker_path(struct broker *b, uint32_t target, const char *path);
int broker_host_path(struct broker *b, const char *path);
int broker_signal(struct broker *b, int signal);

int broker_socket(const struct broker *b); /* for tests */

/* Ends the child, and waits for it, but not for ever: it may hang in a file of a target's. NULL is fine. */
void broker_free(struct broker *b);

#endif
