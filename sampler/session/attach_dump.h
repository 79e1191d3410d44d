#ifndef JS_SESSION_ATTACH_DUMP_H
#define JS_SESSION_ATTACH_DUMP_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct proc;

/*
 * A client of HotSpot's attach protocol (hotspot.md 12) that knows one command: threaddump. It works
 * in a child process of its own, started while this program still has its privileges, so that the
 * parser of the answer needs none. The child takes the target's user and group id.
 */
struct attach_helper;

int attach_helper_start(struct proc *proc, struct attach_helper **ret, struct err *err);

/*
 * The JVM's own dump of its threads; *ret is the caller's. `wake`: if no listener is there, the JVM may be asked
 * for one with SIGQUIT; the caller has made sure that it catches the signal and that attaching is not
 * switched off. Otherwise -ENOENT. The helper serves one request.
 */
int attach_helper_dump(struct attach_helper *h, bool wake, char **ret, size_t *ret_len,
		       struct err *err);
void attach_helper_stop(struct attach_helper *h); /* NULL is fine */

#endif
