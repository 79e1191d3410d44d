/* What all parts of the bridge use: its state, messages, the calling thread's JNIEnv, the end of the process. */
#include "jvm-bridge/host/base/bridge.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct bridge the_bridge;

void bridge_say(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	for (int i = 0; i < n && i < (int)sizeof(line) - 1; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	fprintf(stderr, "jsampler-bridge: %s\n", line);
}

_Noreturn void bridge_freeze(void)
{
	static _Atomic uint32_t never;

	for (;;)
		futex_wait(&never, 0, 0);
}

/* Not atexit(): that is in each library's own startup files, which this library does not have. */
int __cxa_atexit(void (*f)(void *), void *arg, void *library);

static _Atomic uint32_t exit_tid;

void exit_begin(void)
{
	atomic_store(&exit_tid, (uint32_t)syscall(SYS_gettid));
}

static void exit_noted(void *arg)
{
	(void)arg;
	exit_begin();
}

void exit_watch(void)
{
	__cxa_atexit(exit_noted, NULL, NULL);
}

bool exit_is_here(void)
{
	return atomic_load(&exit_tid) == (uint32_t)syscall(SYS_gettid);
}

JNIEnv *bridge_env(void)
{
	void *env = NULL;

	if (the_bridge.vm_functions->GetEnv(the_bridge.vm, &env, JNI_VERSION_1_6))
		return NULL;
	return env;
}

void bridge_free(void *p)
{
	if (p)
		(*the_bridge.ti)->Deallocate(the_bridge.ti, p);
}

bool bridge_is_call(jmethodID method)
{
	unsigned n = atomic_load(&the_bridge.n_calls);

	for (unsigned i = 0; i < n; i++)
		if (the_bridge.calls[i] == method)
			return true;
	return false;
}

jthrowable bridge_exception_take(JNIEnv *env)
{
	jthrowable pending = (*env)->ExceptionOccurred(env);

	if (pending)
		(*env)->ExceptionClear(env);
	return pending;
}

void bridge_exception_put(JNIEnv *env, jthrowable pending)
{
	if (!pending)
		return;
	(*env)->Throw(env, pending);
	(*env)->DeleteLocalRef(env, pending);
}
