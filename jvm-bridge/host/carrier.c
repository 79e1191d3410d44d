/*
 * Platform threads that carry virtual ones. JVMTI reports a carrier as waiting, with the scheduler's frames, whatever
 * the virtual thread on it does; from JDK 21 on, an extension of HotSpot tells which virtual thread that is.
 */
#include <string.h>

#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

static struct {
	_Atomic bool tried;
	jvmtiExtensionFunction virtual_thread;
} extension;

static void extensions_done(jvmtiExtensionFunctionInfo *list, jint n)
{
	for (jint i = 0; i < n; i++) {
		for (jint k = 0; k < list[i].param_count; k++)
			bridge_free(list[i].params[k].name);
		bridge_free(list[i].id);
		bridge_free(list[i].short_description);
		bridge_free(list[i].params);
		bridge_free(list[i].errors);
	}
	bridge_free(list);
}

/* Safe for two threads at once: both find the same. */
static bool extension_find(void)
{
	jvmtiExtensionFunctionInfo *list = NULL;
	jvmtiExtensionFunction found = NULL;
	jint n = 0;

	if (atomic_load(&extension.tried))
		return extension.virtual_thread;
	if ((*the_bridge.ti)->GetExtensionFunctions(the_bridge.ti, &n, &list))
		n = 0;
	for (jint i = 0; i < n; i++)
		if (!strcmp(list[i].id, "com.sun.hotspot.functions.GetVirtualThread"))
			found = list[i].func;
	extensions_done(list, n);
	extension.virtual_thread = found;
	atomic_store(&extension.tried, true);
	return found;
}

static bool is_carrier(struct thread *t, JNIEnv *env, jobject thread)
{
	uint32_t kind = atomic_load(&t->carrier);
	char *signature = NULL;
	jclass klass;

	if (kind != CARRIER_UNKNOWN)
		return kind == CARRIER_YES;
	klass = (*env)->GetObjectClass(env, thread);
	if ((*the_bridge.ti)->GetClassSignature(the_bridge.ti, klass, &signature, NULL))
		signature = NULL;
	kind = signature && !strcmp(signature, "Ljdk/internal/misc/CarrierThread;") ? CARRIER_YES : CARRIER_NO;
	bridge_free(signature);
	(*env)->DeleteLocalRef(env, klass);
	atomic_store(&t->carrier, kind);
	return kind == CARRIER_YES;
}

bool thread_is_carrier(struct thread *t)
{
	jobject thread;

	if (atomic_load(&t->carrier) == CARRIER_UNKNOWN && (thread = thread_object(t, t->env))) {
		is_carrier(t, t->env, thread);
		(*t->env)->DeleteLocalRef(t->env, thread);
	}
	return atomic_load(&t->carrier) == CARRIER_YES;
}

jobject thread_mounted(struct thread *t, JNIEnv *env, jobject thread)
{
	jobject carried = NULL;

	if (!extension_find() || !is_carrier(t, env, thread) ||
	    !event_capabilities_add(44, -1) || /* can_support_virtual_threads */
	    extension.virtual_thread(the_bridge.ti, thread, &carried))
		return NULL;
	return carried;
}
