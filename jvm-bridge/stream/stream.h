#ifndef JS_BRIDGE_STREAM_H
#define JS_BRIDGE_STREAM_H

#include <jni.h>
#include <stdbool.h>

/*
 * The stream agent: a JVMPI agent that sends the sampler what only the JVM knows (wire.h). It is built into
 * libjsampler-bridge.so; libjsampler-stream.so has it alone, with JVM_OnLoad(options) calling stream_load(vm,
 * options, true).
 *
 * `path` is the socket to connect to. If `standing`, a connection is attempted every second while there is none;
 * otherwise once, now. May be called again, by one thread at a time. Returns enum wire_attach.
 */
int stream_load(JavaVM *vm, const char *path, bool standing);

#endif
