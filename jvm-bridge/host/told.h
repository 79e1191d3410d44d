#ifndef JS_BRIDGE_TOLD_H
#define JS_BRIDGE_TOLD_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * What each agent knows of a class or a thread: nothing; only its id; that an event is defining it now; or that it is
 * defined. An event that refers to it waits while it is being defined (told_begin()).
 */
struct told {
	_Atomic uint32_t bits;
};

/*
 * true: the caller must report it and then call told_end(). false: it has been reported, or another thread was
 * reporting it; this waits for the other, one second at most, unless others may be waiting for the caller (it is in
 * the agent, or owns a raw monitor).
 */
bool told_begin(struct told *what, const struct agent *a, const struct thread *t);
void told_end(struct told *what, const struct agent *a, bool sent); /* not sent: it may be reported again */
void told_wait(struct told *what, const struct agent *a, const struct thread *t); /* while another thread reports it */

bool told_is_known(const struct told *what, const struct agent *a); /* reported, or its id was given to the agent */
bool told_know(struct told *what, const struct agent *a); /* the id was given to the agent; true: for the first time */
void told_forget(struct told *what); /* the record will be used for something else */

#endif
