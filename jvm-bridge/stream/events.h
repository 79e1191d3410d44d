#ifndef JS_BRIDGE_EVENTS_H
#define JS_BRIDGE_EVENTS_H

#include "jvm-bridge/stream/known.h"
#include "jvm-bridge/stream/record.h"

/* Where the records of events go. */
struct sink {
	JVMPI_Interface *pi;
	struct known known;
	/* From any thread; env: its own. False: no room, it counts as lost. */
	bool (*put)(const struct record *r, JNIEnv *env);
	bool (*put_later)(const struct record *r, JNIEnv *env); /* nobody waits for it */
};

void event_put(struct sink *s, const JVMPI_Event *e);

#endif
