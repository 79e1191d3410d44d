#ifndef JS_HOTSPOT_JVM_FACTS_H
#define JS_HOTSPOT_JVM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* Run-time address of a symbol of libjvm.so; false: not there. Optional symbols are refinements. */
typedef bool hs_symbol_fn(void *ctx, const char *name, uint64_t *ret_addr);

struct hs_version {
	int major; /* 8, 11, 17, 21, 25, ... */
	char release[96]; /* "17.0.15+6-Debian-1deb12u1"; of 8 that of HotSpot, "25.504-b01" */
	char jdk[96]; /* as people know it: the release, of 8 "8u504" */
	char vm_info[256]; /* the JVM's own long text; "" where it has none */
};

#endif
