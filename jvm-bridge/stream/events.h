#ifndef JS_BRIDGE_EVENTS_H
#define JS_BRIDGE_EVENTS_H

#include "jvm-bridge/stream/record.h"
#include "jvm-bridge/stream/sent_methods.h"

/* Destination for the records of events. */
struct sink {
	JVMPI_Interface *pi;
	struct sent_methods sent_methods;
	/* From any thread, `env` being its JNIEnv. false: no room, counted as lost. */
	bool (*put)(const struct record *r, JNIEnv *env);
	bool (*put_later)(const struct record *r, JNIEnv *env); /* likewise; it need not be sent soon */
};

void event_put(struct sink *s, const JVMPI_Event *e);

#endif
