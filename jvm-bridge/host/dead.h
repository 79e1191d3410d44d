#ifndef JS_BRIDGE_DEAD_H
#define JS_BRIDGE_DEAD_H

#include "jvm-bridge/host/id.h"

/*
 * Ids of dead objects: they stay with the pump until every agent was told, and are given to other objects only while nobody
 * has GC disabled. All of this is for the pump alone.
 */
void dead_add(struct object_id *list); /* linked by `next` */
void dead_look(JNIEnv *env, bool collected); /* for those that died since; collected: there was a collection */
bool dead_is_to_look(void); /* later: it takes one part of the time at most */

/* false: something is left, because GC is disabled or the JVM ends. */
bool dead_unloads_send(struct thread *t);
bool dead_free(struct thread *t); /* gives back ids of which everybody was told */

bool dead_has_frees(const struct agent *a);
void dead_frees_send(struct agent *a, struct thread *t); /* in a window; the agent may have some left */

#endif
