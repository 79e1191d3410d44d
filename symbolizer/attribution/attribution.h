#ifndef JS_ATTRIBUTION_ATTRIBUTION_H
#define JS_ATTRIBUTION_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/exactness.h"
#include "symbolizer/hotspot/code/code.h"

struct hotspot;

struct attributed {
	struct code_scope scope[CODE_MAX_SCOPES]; /* innermost first; the last is the compiled method */
	size_t n;
	enum exactness exactness;
};

/*
 * Maps a pc of compiled code to its inlining chain. Works from the copies in struct code only; keeps
 * its graphs in a bounded cache. One thread owns it.
 */
struct attribution;

struct attribution *attribution_new(struct hotspot *hs);
void attribution_free(struct attribution *a);

/*
 * CPU time that following the flow of code may take in all, 10 s unless told: the code is the target's, who may have
 * made it to be slow to follow. What is asked for beyond that is attributed by the nearest record, approximately;
 * attribution_refused() counts it.
 */
void attribution_set_limit(struct attribution *a, uint64_t cpu_ns);
uint64_t attribution_refused(const struct attribution *a);

/*
 * Asks the JVM what naming pcs of this code takes, and builds its graph; once a code. For a target that
 * lives: it may have ended, or unloaded classes, when names are wanted.
 */
void attribution_prepare(struct attribution *a, const struct code *code);

/*
 * Between hotspot_forget_begin() and hotspot_forget_end(), when all else was kept: keeps the methods that naming
 * will want besides, and forgets what the others called.
 */
void attribution_keep(struct attribution *a, struct hotspot *hs);

/*
 * pc_offset: from code begin. return_address: it is one (exact record expected; a leaf call to a stub has
 * none: then the call instruction is attributed like a sampled pc). ret->n is at least 1 for an nmethod.
 */
void attribution_find(struct attribution *a, const struct code *code, int64_t pc_offset,
		      int return_address, struct attributed *ret);

#endif
