/* The native half of Jni.java and JniFormat.java. Built by tests/integration/shapes.py, without frame pointers. */
#include <jni.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t sink;

/* Memory below the frame that a caller without frame pointer has to know the size of. */
__attribute__((noinline)) static jlong call_up(JNIEnv *env, jclass cls, jint left)
{
	volatile char room[200 + 1];
	jmethodID up = (*env)->GetStaticMethodID(env, cls, "up", "(I)J");

	room[left] = 1;
	return up ? (*env)->CallStaticLongMethod(env, cls, up, left) + room[left] : 0;
}

JNIEXPORT jlong JNICALL Java_Jni_step(JNIEnv *env, jclass cls, jint left)
{
	return left >= 0 && left <= 200 ? call_up(env, cls, left) + 1 : 0;
}

__attribute__((noinline)) static uint64_t burn(uint64_t rounds)
{
	uint64_t x = rounds;

	for (uint64_t i = 0; i < rounds; i++)
		x = (x * 6364136223846793005u + 1442695040888963407u) ^ (x >> 7);
	sink = x;
	return x;
}

JNIEXPORT jlong JNICALL Java_Jni_nativeBurn(JNIEnv *env, jclass cls, jint rounds)
{
	(void)env;
	(void)cls;
	return (jlong)burn((uint64_t)rounds);
}

struct attached {
	JavaVM *vm;
	jclass cls;
};

static void *run_attached(void *arg)
{
	struct attached *a = arg;
	JavaVMAttachArgs args = {JNI_VERSION_1_6, "shape-attached", NULL};
	JNIEnv *env;
	jmethodID m;

	if ((*a->vm)->AttachCurrentThreadAsDaemon(a->vm, (void **)&env, &args) != JNI_OK)
		return NULL;
	m = (*env)->GetStaticMethodID(env, a->cls, "attached", "()V");
	while (m && !(*env)->ExceptionCheck(env))
		(*env)->CallStaticVoidMethod(env, a->cls, m);
	(*a->vm)->DetachCurrentThread(a->vm);
	return NULL;
}

JNIEXPORT void JNICALL Java_Jni_startAttached(JNIEnv *env, jclass cls)
{
	static struct attached a;
	pthread_t thread;

	if ((*env)->GetJavaVM(env, &a.vm) != JNI_OK)
		return;
	a.cls = (*env)->NewGlobalRef(env, cls);
	if (pthread_create(&thread, NULL, run_attached, &a) == 0)
		pthread_detach(thread);
}

__attribute__((noinline, format(printf, 3, 4))) static int print_to(char *dst, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(dst, size, fmt, ap);
	va_end(ap);
	return n;
}

__attribute__((noinline)) static int print_left(char *dst)
{
	return print_to(dst, 400, "%s: %d, %f", "java.lang.IllegalStateException", 1, 1 / 3.0) + dst[0];
}

__attribute__((noinline)) static int print_right(char *dst)
{
	return print_to(dst, 400, "%s: %d, %f", "java.lang.IllegalStateException", 2, 2 / 3.0) + dst[1];
}

/* Larger than the largest copy of a stack, 64 KB. */
JNIEXPORT jint JNICALL Java_JniFormat_format(JNIEnv *env, jclass cls, jboolean left)
{
	char room[100 << 10];

	(void)env;
	(void)cls;
	return left ? print_left(room) + room[2] : print_right(room) + room[3];
}
