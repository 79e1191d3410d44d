#ifndef JS_BRIDGE_TOLD_H
#define JS_BRIDGE_TOLD_H

#include "jvm-bridge/host/bridge.h"

/*
 * What each agent knows of a class or a thread: nothing; its id; that it is being defined by an event now; that it is
 * defined. An event that uses it waits while it is being defined (told_begin()).
 */
struct told {
	_Atomic uint32_t bits;
};

/*
 * true: the caller is to tell it, and calls told_end(). false: it was told, or somebody else was doing so; that is waited
 * for, one second at most, and not by a thread that others may be waiting for (it is in the agent, or owns a raw monitor).
 */
bool told_begin(struct told *what, const struct agent *a, const struct thread *t);
void told_end(struct told *what, const struct agent *a, bool sent); /* not sent: it may be told again */
void told_wait(struct told *what, const struct agent *a, const struct thread *t); /* while somebody else tells it */

bool told_is_known(const struct told *what, const struct agent *a); /* told, or its id was given out */
bool told_know(struct told *what, const struct agent *a); /* the id is given out; true: for the first time */
void told_forget(struct told *what); /* what is told of it next is something else */

#endif
