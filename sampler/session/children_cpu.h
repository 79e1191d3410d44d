#ifndef JS_SESSION_CHILDREN_CPU_H
#define JS_SESSION_CHILDREN_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/*
 * CPU time in ns, since they began, of all processes that the target has started: those that it has waited for (to a
 * tick), and those that still run. A daemon is no longer a descendant; it counts while it has a session (`open`). The
 * time of an orphan that has ended is in no account and so missing here; its session knows most of it
 * (parts/last_cpu.h).
 */
uint64_t children_cpu_ns(const struct session *owner, struct session *const *open, size_t n);

bool session_is_separate(const struct session *s, pid_t pid); /* is it a target of its own (session_options.apart)? */

#endif
