#ifndef JS_SESSION_PARTS_LAST_CPU_H
#define JS_SESSION_PARTS_LAST_CPU_H

#include <stdint.h>

#include "sampler/session/parts/part.h"

struct proc;

/*
 * The CPU time of a process that another one waits for. Once it has been waited for, the kernel's account of it is
 * gone; so the account is read from time to time, as long as there are samples and threads that end, and samples that
 * were taken after the last reading are added.
 */
struct last_cpu;

struct last_cpu *last_cpu_new(struct proc *proc); /* `proc` is borrowed; NULL: out of memory */
extern const struct part_ops last_cpu_part; /* notes samples and ends of threads; to be closed */

/* CPU time since the process began, as far as it is known: at most what was used. */
uint64_t last_cpu_ns(const struct last_cpu *c);

#endif
