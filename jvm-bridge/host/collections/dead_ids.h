#ifndef JS_BRIDGE_DEAD_IDS_H
#define JS_BRIDGE_DEAD_IDS_H

#include "jvm-bridge/host/id.h"

/*
 * Ids of dead objects. The pump holds each until every agent has been told, and releases it for reuse only while
 * nobody has GC disabled. Only the pump calls these functions.
 */
void dead_ids_add(struct object_id *list); /* linked by `next` */
void dead_ids_find(JNIEnv *env, bool collected); /* finds newly dead ones; collected: there was a collection */
bool dead_ids_find_is_due(void); /* a look is due, or postponed: looking is limited to a fraction of the time */

/* false: some are left, because GC is disabled or the JVM is ending. */
bool dead_ids_send_unloads(struct thread *t);
bool dead_ids_release(struct thread *t); /* releases ids that every agent has been told about */

bool dead_ids_have_frees(const struct agent *a);
void dead_ids_send_frees(struct agent *a, struct thread *t); /* in a window; some may be left for the agent */

#endif
