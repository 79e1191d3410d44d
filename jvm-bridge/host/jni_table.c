#include "jvm-bridge/host/jni_table.h"

#include "jvm-bridge/host/thread.h"

static bool table_change(_Atomic(struct JNINativeInterface_ *) *before, void (*change)(struct JNINativeInterface_ *))
{
	jvmtiEnv *ti = the_bridge.ti;
	struct JNINativeInterface_ *was = NULL, *table = NULL;
	bool ok;

	if ((*ti)->GetJNIFunctionTable(ti, &was))
		return false;
	if ((*ti)->GetJNIFunctionTable(ti, &table)) {
		bridge_free(was);
		return false;
	}
	change(table);
	atomic_store(before, was);
	ok = !(*ti)->SetJNIFunctionTable(ti, table);
	if (!ok)
		atomic_store(before, NULL);
	bridge_free(table);
	return ok;
}

bool jni_table_change(_Atomic(struct JNINativeInterface_ *) *before, void (*change)(struct JNINativeInterface_ *))
{
	bool ok;

	steady_lock(thread_find(bridge_env()));
	ok = atomic_load(before) || table_change(before, change);
	steady_unlock();
	return ok;
}
