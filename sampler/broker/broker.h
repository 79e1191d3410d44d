#ifndef JS_BROKER_BROKER_H
#define JS_BROKER_BROKER_H

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

struct broker *broker_new(void); /* NULL: out of memory */

/* Before broker_start(). *ret: its number. -ESRCH: no such process; -E2BIG: too many. */
int broker_add_target(struct broker *b, pid_t pid, uint32_t *ret, struct err *err);

/* Forks. drop: what the child does first; NULL: nothing. Call with one thread. 0 or -errno. */
int broker_start(struct broker *b, int (*drop)(struct err *err), struct err *err);

int broker_socket(const struct broker *b); /* for closed_begin() */

/*
 * A descriptor for reading, the caller's, or -errno: -ESRCH: the process or thread has ended; -EACCES, -EPERM: the target does not let us read it;
 * -EPIPE: the broker has ended. Not thread-safe.
 */
int broker_proc(struct broker *b, uint32_t target, enum broker_name name);
int broker_task(struct broker *b, uint32_t target, pid_t tid, enum broker_name name);
int broker_mapped(struct broker *b, uint32_t target, uint64_t start, uint64_t end);
int broker_perf_map(struct broker *b, uint32_t target);
int broker_debug_file(struct broker *b, uint32_t target, const uint8_t *build_id, size_t len);

/* Ends the child, and waits for it. NULL is fine. */
void broker_free(struct broker *b);

#endif
