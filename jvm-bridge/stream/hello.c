/* The first record of a connection: identifies the JVM. */
#include <string.h>
#include <unistd.h>

#include "jvm-bridge/base/futex.h"
#include "jvm-bridge/stream/record.h"

/* java.vm.version, or "". */
static void version_put(struct record *r, JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/System");
	jmethodID get =
		klass ? (*env)->GetStaticMethodID(env, klass, "getProperty", "(Ljava/lang/String;)Ljava/lang/String;") :
			NULL;
	jstring key = get ? (*env)->NewStringUTF(env, "java.vm.version") : NULL;
	jstring value = key ? (*env)->CallStaticObjectMethod(env, klass, get, key) : NULL;
	const char *text = value && !(*env)->ExceptionCheck(env) ? (*env)->GetStringUTFChars(env, value, NULL) : NULL;

	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	record_str(r, text ? text : "");
	if (text)
		(*env)->ReleaseStringUTFChars(env, value, text);
	(*env)->DeleteLocalRef(env, value);
	(*env)->DeleteLocalRef(env, key);
	(*env)->DeleteLocalRef(env, klass);
}

bool record_hello(struct record *r, JNIEnv *env)
{
	record_begin(r, WIRE_HELLO, 0);
	for (int i = 0; i < 8; i += 2) {
		uint16_t two;

		memcpy(&two, &WIRE_MAGIC[i], sizeof(two));
		record_u16(r, two);
	}
	record_u16(r, WIRE_VERSION_MAJOR);
	record_u16(r, WIRE_VERSION_MINOR);
	record_u32(r, sizeof(void *));
	record_u32(r, (uint32_t)getpid());
	record_u32(r, 0);
	record_u64(r, clock_ns(CLOCK_MONOTONIC));
	record_u64(r, clock_ns(CLOCK_REALTIME));
	version_put(r, env);
	return record_end(r);
}
