/*
 * An agent that listens to compiled methods and does nothing else: its presence makes the compilers
 * record debug information at other places than safepoints. Built by tests/integration/truth.py.
 */
#include <jvmti.h>
#include <stddef.h>

static void JNICALL compiled_method_load(jvmtiEnv *env, jmethodID method, jint size, const void *address, jint n,
					 const jvmtiAddrLocationMap *map, const void *info)
{
	(void)env, (void)method, (void)size, (void)address, (void)n, (void)map, (void)info;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities can = {.can_generate_compiled_method_load_events = 1};
	jvmtiEventCallbacks callbacks = {.CompiledMethodLoad = compiled_method_load};
	jvmtiEnv *env;

	(void)options, (void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) != JNI_OK)
		return JNI_ERR;
	if ((*env)->AddCapabilities(env, &can) || (*env)->SetEventCallbacks(env, &callbacks, sizeof(callbacks)) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, NULL))
		return JNI_ERR;
	return JNI_OK;
}
