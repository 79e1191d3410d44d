#ifndef JS_HOTSPOT_ROLES_H
#define JS_HOTSPOT_ROLES_H

#include <stdint.h>

struct code;
struct code_cache;
struct hotspot;

/* The kinds of call targets that attribution distinguishes. */
enum blob_role {
	ROLE_NONE,
	ROLE_UNCOMMON_TRAP,
	ROLE_RUNTIME, /* a stub of C1, C2 or the shared runtime: a slow path */
	ROLE_LEAF, /* StubRoutines, such as array copy; calls to them have no record */
	ROLE_NATIVE, /* outside the code cache; set by attribution, hs_code_role() returns ROLE_LEAF */
};

/* The role of the call target at an address. If it is a new stub, interns it. */
enum blob_role hs_code_role(struct hotspot *hs, uint64_t target);

/* The code blob at a pc. A compiled method is returned only if it was seen before; no compiled method is copied. */
const struct code *stub_find(struct code_cache *cache, uint64_t pc);

/* Interns the stubs that a compiled method calls, so that hs_code_role() knows them after the target has ended. */
void roles_note(struct code_cache *cache, const struct code *c);

#endif
