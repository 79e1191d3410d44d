#ifndef JS_BRIDGE_DEFINITION_H
#define JS_BRIDGE_DEFINITION_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * What each agent knows of a class or a thread: nothing; only its id; that an event is defining it now; or that it is
 * defined. An event that refers to it waits while it is being defined (definition_begin()).
 */
struct definition {
	_Atomic uint32_t bits;
};

/*
 * true: the caller must report it and then call definition_end(). false: it has been reported, or another thread was
 * reporting it; this waits for the other, one second at most, unless others may be waiting for the caller (it is in
 * the agent, or owns a raw monitor).
 */
bool definition_begin(struct definition *what, const struct agent *a, const struct thread *t);
void definition_end(struct definition *what, const struct agent *a, bool sent); /* not sent: it may be reported again */
void definition_wait(struct definition *what, const struct agent *a,
		     const struct thread *t); /* while another thread reports it */

bool definition_is_known(const struct definition *what,
			 const struct agent *a); /* reported, or its id was given to the agent */
bool definition_id_given(struct definition *what,
			 const struct agent *a); /* the id was given to the agent; true: for the first time */
void definition_reset(struct definition *what); /* the record will be used for something else */

#endif
