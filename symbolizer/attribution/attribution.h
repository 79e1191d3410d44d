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
 * Maps a pc of compiled code to its inlining chain. It only uses the copies in struct code, and keeps
 * its graphs in a bounded cache. One thread owns it.
 */
struct attribution;

struct attribution *attribution_new(struct hotspot *hs);
void attribution_free(struct attribution *a);

/*
 * The number of look-ups for which there was no time left. The target chooses its code, which may be slow to follow, so
 * the CPU time for that is limited; beyond it, the nearest record is used, approximately.
 */
uint64_t attribution_refused(const struct attribution *a);

/*
 * Builds the graph of a code blob, and reads from the JVM what naming its pcs takes, once for each. To be called while
 * the target lives: by the end it may have exited, or unloaded classes.
 */
void attribution_prepare(struct attribution *a, const struct code *code);

/*
 * Between hotspot_forget_begin() and hotspot_forget_end(), after everything else was kept: keeps further methods that
 * naming will need, and forgets the callees of the others.
 */
void attribution_keep(struct attribution *a, struct hotspot *hs);

/*
 * pc_offset: from code begin. return_address: the pc is one (an exact record is expected; a leaf call to a stub has
 * none: then the call instruction is attributed like a sampled pc). ret->n is at least 1 for an nmethod.
 */
void attribution_find(struct attribution *a, const struct code *code, int64_t pc_offset, int return_address,
		      struct attributed *ret);

#endif
