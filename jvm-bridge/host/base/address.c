/*
 * Where the JVM keeps its methods. JVMTI names methods by jmethodID; an interpreter frame holds the Method*. Up to
 * JDK 24 an id is the address of a cell that holds the Method*, later it is a number. The class has both:
 * InstanceKlass has its methods, and the id of each by the method's number (JDK
 * src/hotspot/share/oops/instanceKlass.hpp, 8 to 25). Offsets of fields come from the tables that the JVM exports for
 * its serviceability agent. Inconsistent data is not reported.
 */
#include <dlfcn.h>
#include <string.h>

#include "jvm-bridge/host/base/address.h"
#include "jvm-bridge/host/base/libc_old.h"
#include "jvm-bridge/host/base/method_list.h"

enum { ENTRIES_MAX = 1 << 16 };

/* jdk.internal.misc.Unsafe reads a field at the object's current address; JNI cannot read injected fields. */
static struct {
	_Atomic bool ready, tried;
	jobject unsafe;
	jmethodID get_long;
	jlong klass; /* in java.lang.Class: InstanceKlass* */
	struct method_layout layout;
} at;

/* One of the exported tables; the layout of its entries is exported as well. */
struct table {
	uint64_t entries, stride, type, field, is_static, offset, address;
};

static bool exported(void *lib, const char *name, uint64_t *ret)
{
	const void *p = dlsym(lib, name);

	if (p)
		memcpy(ret, p, sizeof(*ret));
	return p;
}

static bool table_open(void *lib, struct table *t)
{
	return exported(lib, "gHotSpotVMStructs", &t->entries) &&
	       exported(lib, "gHotSpotVMStructEntryArrayStride", &t->stride) &&
	       exported(lib, "gHotSpotVMStructEntryTypeNameOffset", &t->type) &&
	       exported(lib, "gHotSpotVMStructEntryFieldNameOffset", &t->field) &&
	       exported(lib, "gHotSpotVMStructEntryIsStaticOffset", &t->is_static) &&
	       exported(lib, "gHotSpotVMStructEntryOffsetOffset", &t->offset) &&
	       exported(lib, "gHotSpotVMStructEntryAddressOffset", &t->address) && t->entries;
}

/* Gives the offset of an instance field, the address of a static one. */
static bool table_find(const struct table *t, const char *type, const char *field, uint64_t *ret)
{
	for (uint64_t e = t->entries, i = 0; i < ENTRIES_MAX; i++, e += t->stride) {
		const char *name = (const char *)(uintptr_t)jvm_word(e + t->type);
		const char *of = (const char *)(uintptr_t)jvm_word(e + t->field);
		int32_t is_static;

		if (!name)
			return false;
		if (!of || strcmp(name, type) || strcmp(of, field))
			continue;
		memcpy(&is_static, (const void *)(uintptr_t)(e + t->is_static), sizeof(is_static));
		*ret = jvm_word(e + (is_static ? t->address : t->offset));
		return true;
	}
	return false;
}

bool jvm_fields_find(const struct jvm_field *f, size_t n)
{
	struct table t;
	Dl_info info;
	void *lib;
	bool ok;

	if (!dladdr((const void *)the_bridge.vm_functions->GetEnv, &info) || !info.dli_fname)
		return false;
	lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return false;
	ok = table_open(lib, &t);
	for (size_t i = 0; ok && i < n; i++)
		ok = table_find(&t, f[i].type, f[i].name, f[i].ret);
	dlclose(lib);
	return ok;
}

static bool fields_find(void)
{
	uint64_t klass = 0;
	int32_t offset;
	const struct jvm_field fields[] = {
		{"java_lang_Class", "_klass_offset", &klass},
		{"InstanceKlass", "_methods", &at.layout.methods},
		{"InstanceKlass", "_methods_jmethod_ids", &at.layout.ids},
		{"Array<int>", "_length", &at.layout.array_length},
		{"Array<Method*>", "_data", &at.layout.array_data},
		{"Method", "_constMethod", &at.layout.const_method},
		{"ConstMethod", "_method_idnum", &at.layout.number},
	};

	if (!jvm_fields_find(fields, sizeof(fields) / sizeof(*fields)) || !klass)
		return false;
	memcpy(&offset, (const void *)(uintptr_t)klass, sizeof(offset));
	at.klass = offset;
	return offset > 0;
}

static bool unsafe_find(JNIEnv *env, const char *name, const char *signature)
{
	jclass klass = (*env)->FindClass(env, name);
	jfieldID field = klass ? (*env)->GetStaticFieldID(env, klass, "theUnsafe", signature) : NULL;
	jobject unsafe = field ? (*env)->GetStaticObjectField(env, klass, field) : NULL;

	at.get_long = unsafe ? (*env)->GetMethodID(env, klass, "getLong", "(Ljava/lang/Object;J)J") : NULL;
	at.unsafe = at.get_long ? (*env)->NewGlobalRef(env, unsafe) : NULL;
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	if (klass)
		(*env)->DeleteLocalRef(env, klass);
	if (unsafe)
		(*env)->DeleteLocalRef(env, unsafe);
	return at.unsafe;
}

void addresses_init(JNIEnv *env)
{
	if (atomic_exchange(&at.tried, true))
		return;
	if (!fields_find() || (!unsafe_find(env, "jdk/internal/misc/Unsafe", "Ljdk/internal/misc/Unsafe;") &&
			       !unsafe_find(env, "sun/misc/Unsafe", "Lsun/misc/Unsafe;"))) /* JDK 8 */
		return;
	atomic_store(&at.ready, true);
}

static uint64_t klass_of(JNIEnv *env, jmethodID method)
{
	jclass klass = NULL;
	jlong v;

	if ((*the_bridge.ti)->GetMethodDeclaringClass(the_bridge.ti, method, &klass) || !klass)
		return 0;
	v = (*env)->CallLongMethod(env, at.unsafe, at.get_long, klass, at.klass);
	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionClear(env);
		v = 0;
	}
	(*env)->DeleteLocalRef(env, klass);
	return (uint64_t)v;
}

/* All methods belong to one class, which is alive: the caller has just got them from it. */
jint addresses_request(JNIEnv *env, JVMPI_JS_Addresses *a)
{
	uint64_t klass;

	if (!atomic_load(&at.ready))
		return JVMPI_NOT_AVAILABLE;
	if (!a || a->num_methods <= 0)
		return JVMPI_FAIL;
	klass = klass_of(env, a->methods[0].method_id);
	return klass && method_list_find(&at.layout, klass, a) ? JVMPI_SUCCESS : JVMPI_FAIL;
}
