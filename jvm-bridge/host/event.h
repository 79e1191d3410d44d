#ifndef JS_BRIDGE_EVENT_H
#define JS_BRIDGE_EVENT_H

#include "jvm-bridge/host/base/bridge.h"

enum { JS_EVENTS = 4 }; /* extensions */

int event_slot(jint type); /* -1: not an event of JVMPI */
uint64_t event_bit(jint type); /* in an agent's `enabled` */
bool agent_wants(const struct agent *a, jint type);
bool any_agent_wants(jint type);
void event_modes_apply(void); /* enables in JVMTI the events that are wanted now */
bool events_want_ids(void); /* some agent wants events that carry ids */

/* GC_NOT: no object is reported as freed while the agent handles the event. GC_FREES: not sent while GC is disabled. */
enum gc_mode { GC_MAY, GC_NOT, GC_FREES };
/* false: not sent. */
bool event_send(struct agent *a, struct thread *t, JVMPI_Event *e, enum gc_mode mode);
/* To every agent that wants it. */
void event_send_all(struct thread *t, JVMPI_Event *e, enum gc_mode mode);

#endif
