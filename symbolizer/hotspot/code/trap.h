#ifndef JS_HOTSPOT_TRAP_H
#define JS_HOTSPOT_TRAP_H

#include <stdint.h>

struct hotspot;

/* What kind of check an uncommon trap of C2 is of, as far as it says where that check was done. */
enum trap_kind {
	TRAP_OF_CHECK, /* where its bytecode is executed, or not known */
	TRAP_OF_LOOP, /* before a loop, for what the loop does: its state is that of the loop's entry */
	TRAP_OF_BRANCH, /* a branch of the program: its other side was never taken */
};

/* request: the argument of the trap's call, as Deoptimization::make_trap_request() puts it together. */
enum trap_kind hs_trap_kind(const struct hotspot *hs, int32_t request);

#endif
