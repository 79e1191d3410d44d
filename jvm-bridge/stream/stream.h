#ifndef JS_BRIDGE_STREAM_H
#define JS_BRIDGE_STREAM_H

#include <jni.h>
#include <stdbool.h>

/*
 * The stream agent: a JVMPI agent that sends what only the JVM knows to the sampler (wire.h). It is part of
 * libjsampler-bridge.so, and alone is libjsampler-stream.so, where JVM_OnLoad(options) is
 * stream_load(vm, options, true).
 *
 * `path` is the socket to connect to. Standing: tried every second while there is no connection;
 * else connected now, once. May be called again, by one thread at a time. enum wire_attach.
 */
int stream_load(JavaVM *vm, const char *path, bool standing);

#endif
