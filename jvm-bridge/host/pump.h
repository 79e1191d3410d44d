#ifndef JS_BRIDGE_PUMP_H
#define JS_BRIDGE_PUMP_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * The pump: a thread of the bridge for work that the JVM's callbacks must not do themselves. What that work is, only
 * collections/gc.c knows.
 *
 * A thread woken in a collection's pause blocks at the safepoint and has to be woken again. So what is not urgent waits
 * for the pump's timer and is done in batches; only the first of it after a whole period without any wakes the pump. An
 * idle JVM stays idle.
 */
struct pump_work {
	bool (*is_due)(void);
	bool (*run)(struct thread *t); /* in a frame of local references; true: something is left, to be tried again */
};

void pump_set_work(const struct pump_work *w); /* before pump_start() */
bool pump_start(void); /* starts its thread; idempotent */
bool pump_is_started(void);
void pump_notify(void); /* there is work that can wait for a batch */
void pump_hurry(void); /* there is work that cannot */
void pump_shutdown(void);

#endif
