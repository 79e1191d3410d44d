/* libjsampler-stream.so: the stream agent as an ordinary JVMPI agent. Its options are the path. */
#include <stdio.h>

#include "jvm-bridge/jvmpi/jvmpi.h"
#include "jvm-bridge/stream/stream.h"
#include "jvm-bridge/stream/wire.h"

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	int r = stream_load(vm, options, true);

	(void)reserved;
	if (r == WIRE_ATTACH_PATH)
		fprintf(stderr,
			"jsampler-stream: the option must be the absolute path of a socket, no longer than %d bytes\n",
			WIRE_PATH_MAX);
	return r ? JNI_ERR : JNI_OK;
}
