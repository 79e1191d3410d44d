#ifndef JS_HOTSPOT_SCOPES_H
#define JS_HOTSPOT_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A scope in an nmethod's debug information (JDK src/hotspot/share/code/scopeDesc.cpp): offset of the sender (0:
 * outermost), index + 1 into the metadata, bci + 1.
 */
struct scope {
	int32_t sender;
	uint32_t method_index; /* 0: none */
	int32_t bci;
};

/* false: invalid. A sender always precedes its callees, so chains end. */
bool scope_read(const uint8_t *scopes, size_t len, uint32_t bias, int32_t offset, struct scope *ret);

#endif
