#include "jvm-bridge/hprof/vm_dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/format/binary.h"

enum { PIECE = 1 << 16, HEAD = 9 /* of a record: type, time, length */, MAGIC_MAX = 64 };

static struct {
	char directory[FILE_NAME_MAX + 16];
	char file[FILE_NAME_MAX + 32]; /* JDK 9 and later insist on the suffix .hprof */
} dump;

static bool place_make(void)
{
	snprintf(dump.directory, sizeof(dump.directory), "%s.XXXXXX",
		 hprof.options.port ? "/tmp/java.hprof" : hprof.options.file);
	if (!mkdtemp(dump.directory)) {
		hprof_error("cannot create a temporary directory '%s': %s", dump.directory, strerror(errno));
		*dump.directory = 0;
		return false;
	}
	snprintf(dump.file, sizeof(dump.file), "%s/heap.hprof", dump.directory);
	return true;
}

void vm_dump_remove(void)
{
	if (!*dump.directory)
		return;
	unlink(dump.file);
	rmdir(dump.directory);
	*dump.directory = 0;
}

/* The bean; NULL: this JVM does not have it, or an exception is pending. */
static jobject bean_find(JNIEnv *env, jclass *ret)
{
	jclass factory = (*env)->FindClass(env, "java/lang/management/ManagementFactory");
	jclass type = factory ? (*env)->FindClass(env, "com/sun/management/HotSpotDiagnosticMXBean") : NULL;
	jmethodID get =
		type ? (*env)->GetStaticMethodID(env, factory, "getPlatformMXBean",
						 "(Ljava/lang/Class;)Ljava/lang/management/PlatformManagedObject;") :
		       NULL;

	*ret = type;
	return get ? (*env)->CallStaticObjectMethod(env, factory, get, type) : NULL;
}

static bool dump_call(JNIEnv *env)
{
	jclass type = NULL;
	jobject bean = bean_find(env, &type);
	jmethodID method = NULL;
	jstring name;

	if ((*env)->ExceptionCheck(env) || !bean)
		return false;
	method = (*env)->GetMethodID(env, type, "dumpHeap", "(Ljava/lang/String;Z)V");
	name = method ? (*env)->NewStringUTF(env, dump.file) : NULL;
	if (!name)
		return false;
	(*env)->CallVoidMethod(env, bean, method, name, JNI_TRUE);
	return !(*env)->ExceptionCheck(env);
}

/* Prints the exception's message on one line. */
static void exception_say(JNIEnv *env)
{
	jthrowable thrown = (*env)->ExceptionOccurred(env);
	jclass type = NULL;
	jmethodID method = NULL;
	jstring text = NULL;
	const char *chars = NULL;

	(*env)->ExceptionClear(env);
	type = thrown ? (*env)->GetObjectClass(env, thrown) : NULL;
	method = type ? (*env)->GetMethodID(env, type, "toString", "()Ljava/lang/String;") : NULL;
	text = method ? (*env)->CallObjectMethod(env, thrown, method) : NULL;
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	else if (text)
		chars = (*env)->GetStringUTFChars(env, text, NULL);
	hprof_error("the JVM's own heap dump failed (dumper=jvmpi does without it): %s",
		    chars ? chars : "there is no HotSpotDiagnosticMXBean");
	if (chars)
		(*env)->ReleaseStringUTFChars(env, text, chars);
}

bool vm_dump_make(JavaVM *vm)
{
	void *env = NULL;
	bool ok = false;

	if ((*vm)->GetEnv(vm, &env, JNI_VERSION_1_2) || !place_make())
		return false;
	if (!(*(JNIEnv *)env)->PushLocalFrame(env, 16)) {
		ok = dump_call(env);
		if (!ok)
			exception_say(env);
		(*(JNIEnv *)env)->PopLocalFrame(env, NULL);
	} else {
		(*(JNIEnv *)env)->ExceptionClear(env);
	}
	if (!ok)
		vm_dump_remove();
	return ok;
}

/* Skips the magic, the id size and the time. false: not a heap dump. */
static bool header_skip(FILE *f)
{
	char head[MAGIC_MAX];
	size_t n = 0;
	int c;

	while (n < sizeof(head) - 1 && (c = getc(f)) > 0)
		head[n++] = (char)c;
	head[n] = 0;
	if (strcmp(head, "JAVA PROFILE 1.0.2") || fread(head, 1, 12, f) != 12)
		return false;
	return head[0] == 0 && head[1] == 0 && head[2] == 0 && head[3] == 8;
}

/* false: the file is truncated. */
static bool record_copy(FILE *f)
{
	unsigned char head[HEAD];
	char piece[PIECE];
	size_t left, n;

	if (fread(head, 1, sizeof(head), f) != sizeof(head))
		return false;
	left = (size_t)head[5] << 24 | (size_t)head[6] << 16 | (size_t)head[7] << 8 | head[8];
	out_put(head, sizeof(head));
	for (; left; left -= n) {
		n = fread(piece, 1, left < sizeof(piece) ? left : sizeof(piece), f);
		if (!n)
			return false;
		out_put(piece, n);
	}
	out_whole();
	return true;
}

void vm_dump_copy(void)
{
	FILE *f = fopen(dump.file, "re");
	bool ok = f && header_skip(f);
	int c;

	if (ok)
		binary_heap_begin();
	while (ok && (c = getc(f)) >= 0) {
		ungetc(c, f);
		ok = record_copy(f);
	}
	if (!ok || ferror(f))
		hprof_error("cannot read the JVM's own heap dump: %s is incomplete", hprof.options.file);
	if (f)
		fclose(f);
}
