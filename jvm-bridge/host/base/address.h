#ifndef JS_BRIDGE_ADDRESS_H
#define JS_BRIDGE_ADDRESS_H

#include "jvm-bridge/host/base/bridge.h"

/* Offsets of instance fields, addresses of static ones, from the JVM's tables. false: one is missing. */
struct jvm_field {
	const char *type, *name;
	uint64_t *ret;
};
bool jvm_fields_find(const struct jvm_field *f, size_t n);
/* Reads the JVM's own memory; the caller must know that the address is mapped. */
static inline uint64_t jvm_word(uint64_t address)
{
	uint64_t v;

	memcpy(&v, (const void *)(uintptr_t)address, sizeof(v));
	return v;
}
void addresses_init(JNIEnv *env);
jint addresses_request(JNIEnv *env, JVMPI_JS_Addresses *a);

#endif
