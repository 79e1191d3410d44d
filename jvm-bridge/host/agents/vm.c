/*
 * The JavaVM that agents see. Its function table is replaced in place, so that an agent that gets the JavaVM from
 * GetJavaVM, or a plain -Xrun agent that the JVM itself loads, finds JVMPI as well; everything but the three JVMPI
 * versions is passed to the JVM.
 */
#include "jvm-bridge/host/agents/agent.h"
#include "jvm-bridge/host/base/bridge.h"

static struct JNIInvokeInterface_ functions;

static jint JNICALL get_env(JavaVM *vm, void **ret, jint version)
{
	struct agent *a;

	if (version < JVMPI_VERSION_1 || version > JVMPI_VERSION_1_2)
		return the_bridge.vm_functions->GetEnv(vm, ret, version);
	if (!ret)
		return JNI_ERR;
	a = atomic_load(&the_bridge.loading);
	if (!a)
		a = agent_of(__builtin_return_address(0), atomic_load(&the_bridge.started));
	*ret = a ? &a->iface : NULL;
	return a ? JNI_OK : JNI_EVERSION;
}

void vm_patch(JavaVM *vm)
{
	the_bridge.vm = vm;
	the_bridge.vm_functions = *vm;
	functions = **vm;
	functions.GetEnv = get_env;
	*vm = &functions;
}

void vm_unpatch(void)
{
	if (the_bridge.vm && *the_bridge.vm == &functions)
		*the_bridge.vm = the_bridge.vm_functions;
}
