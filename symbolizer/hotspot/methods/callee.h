#ifndef JS_HOTSPOT_CALLEE_H
#define JS_HOTSPOT_CALLEE_H

#include <stdint.h>

struct hotspot;

/*
 * The method that the invoke bytecode at `bci` of a method calls, from its resolved constant-pool entry. 0: not
 * resolved, several methods are possible (interface and overridable virtual calls, invokedynamic), or the layout of
 * this JDK is unknown.
 */
uint32_t hs_callee_at(struct hotspot *hs, uint32_t method_id, int32_t bci);

#endif
