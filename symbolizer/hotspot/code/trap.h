#ifndef JS_HOTSPOT_TRAP_H
#define JS_HOTSPOT_TRAP_H

#include <stdint.h>

struct hotspot;

/* The kinds of checks that lead to C2's uncommon traps, by where the check is made. */
enum trap_kind {
	TRAP_OF_CHECK, /* where its bytecode is executed; also if unknown */
	TRAP_OF_LOOP, /* before a loop, on behalf of its body, with the state of the loop's entry */
	TRAP_OF_BRANCH, /* at a branch of the program whose other side was never taken */
	TRAP_KINDS,
};

/* request: the argument of the call, from Deoptimization::make_trap_request(). */
enum trap_kind hs_trap_kind(const struct hotspot *hs, int32_t request);

#endif
