#ifndef JS_SESSION_CHILDREN_CPU_H
#define JS_SESSION_CHILDREN_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/*
 * CPU time since they began, in ns, of all processes that the target has started: of those that it has waited for (to a tick), and
 * of those that are still there. A daemon is no descendant any more; it counts while it has a session (`open`). What an orphan
 * used that has ended is in nobody's account.
 */
uint64_t children_cpu_ns(const struct session *owner, struct session *const *open, size_t n);

bool session_is_apart(const struct session *s, pid_t pid); /* it is a target of its own: session_options.apart */

#endif
