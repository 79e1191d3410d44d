#ifndef JS_HOTSPOT_ROLES_H
#define JS_HOTSPOT_ROLES_H

#include <stdint.h>

struct code;
struct hotspot;

/* The code at a pc unless it is a compiled method not met yet, of which nothing is copied. */
const struct code *stub_find(struct hotspot *hs, uint64_t pc);

/* Interns the stubs that a compiled method calls, so that hs_code_role() knows them when the target
 * has ended. */
void roles_note(struct hotspot *hs, const struct code *c);

#endif
