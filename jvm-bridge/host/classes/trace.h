#ifndef JS_BRIDGE_TRACE_H
#define JS_BRIDGE_TRACE_H

#include "jvm-bridge/host/base/bridge.h"

void trace_get(JVMPI_CallTrace *trace, jint depth);
void trace_lines(JVMPI_CallFrame *frames, jint n); /* turns bytecode indices, as from AsyncGetCallTrace, into lines */
void trace_forget(void); /* call after classes were unloaded */
/* Call traces of all threads known to the bridge but its own, up to `depth` frames each; fewer without memory. */
struct traces {
	JVMPI_CallTrace *at;
	jint *status; /* as from GetThreadStatus */
	jint n;
	JVMPI_CallFrame *frames;
};

void traces_get(struct traces *ret, jint depth);
void traces_done(struct traces *t);

#endif
