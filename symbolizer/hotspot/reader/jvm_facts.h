#ifndef JS_HOTSPOT_JVM_FACTS_H
#define JS_HOTSPOT_JVM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* Finds the run-time address of a symbol of libjvm.so; false: there is none. */
typedef bool hs_symbol_fn(void *ctx, const char *name, uint64_t *ret_addr);

struct hs_version {
	int major; /* 8, 11, 17, 21, 25, ... */
	char release[96]; /* "17.0.15+6-Debian-1deb12u1"; for JDK 8, HotSpot's own, "25.504-b01" */
	char jdk[96]; /* for users: the release, or "8u504" */
	char vm_info[256]; /* the JVM's own long text; "" if it has none */
};

#endif
