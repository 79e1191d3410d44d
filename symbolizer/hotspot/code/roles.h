#ifndef JS_HOTSPOT_ROLES_H
#define JS_HOTSPOT_ROLES_H

#include <stdint.h>

struct code;
struct code_cache;
struct hotspot;

/* Why a call of compiled code has no return: classes of runtime blobs that attribution asks for. */
enum blob_role {
	ROLE_NONE,
	ROLE_UNCOMMON_TRAP,
	ROLE_RUNTIME, /* C1/C2/shared runtime stub: slow path */
	ROLE_LEAF, /* StubRoutines: array copy and the like; calls to it have no record */
	ROLE_NATIVE, /* outside of the code cache; attribution's own, hs_code_role() says ROLE_LEAF */
};

/* What a call target is, by address (attribution). Adds a stub to the codes if it is new. */
enum blob_role hs_code_role(struct hotspot *hs, uint64_t target);

/* The code at a pc unless it is a compiled method not met yet, of which nothing is copied. */
const struct code *stub_find(struct code_cache *cache, uint64_t pc);

/* Interns the stubs that a compiled method calls, so that hs_code_role() knows them when the target
 * has ended. */
void roles_note(struct code_cache *cache, const struct code *c);

#endif
