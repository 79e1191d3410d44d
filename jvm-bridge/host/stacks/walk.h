#ifndef JS_BRIDGE_WALK_H
#define JS_BRIDGE_WALK_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * The stack of the calling thread at the place where a signal interrupted it, by the JVM's AsyncGetCallTrace. Only
 * walk_here() may be called in a signal handler.
 */
int walk_open(void); /* -ENOSYS: this JVM or this machine cannot */
/* Where the JVM keeps things: the distance from a JavaThread to its JNIEnv, and its stubs. Before the first walk. */
void walk_init(uint64_t env_distance);
/* Of walk_init(): code that the JVM generated, and that is no method. */
void JNICALL walk_stub(const char *name, const void *addr, jint length);
/* The number of frames, innermost first, with bytecode indices for lines; <= 0: AsyncGetCallTrace's reason for none. */
jint walk_here(JNIEnv *env, JVMPI_CallFrame *frames, jint depth, const void *ucontext);

#endif
