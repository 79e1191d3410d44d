#ifndef JS_HOTSPOT_FLAGS_H
#define JS_HOTSPOT_FLAGS_H

#include <stdint.h>

/* One entry of the JVM's flag table. */
struct vm_flag {
	const char *name;
	uint64_t addr; /* of the value */
	uint8_t width, origin;
};

#endif
