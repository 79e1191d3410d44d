#ifndef JS_ATTRIBUTION_ATTRIBUTION_H
#define JS_ATTRIBUTION_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/exactness.h"
#include "symbolizer/hotspot/code/code.h"

struct graph_cache;
struct hotspot;

struct attributed {
	struct code_scope scope[CODE_MAX_SCOPES]; /* innermost first; the last is the compiled method */
	size_t n;
	enum exactness exactness;
};

/*
 * Maps a pc of compiled code to its inlining chain. It uses only the copies in struct code, and keeps its graphs in a
 * bounded cache. One thread owns it.
 */
struct attribution;

/*
 * cache: for its graphs, borrowed; others in the same thread may use it, too; NULL: it gets one of its own. Returns
 * NULL if memory runs out.
 */
struct attribution *attribution_new(struct hotspot *hs, struct graph_cache *cache);
void attribution_free(struct attribution *a);

/*
 * The number of look-ups for which no time was left. The target chooses its code, which may take long to analyse, so
 * the CPU time for that is limited; once it is used up, look-ups use the nearest record, with less certainty.
 */
uint64_t attribution_refused(const struct attribution *a);
/*
 * For a JVM that is sampled for days: adds so much time, up to what there was at first, and resets the number of
 * refused look-ups.
 */
void attribution_grant(struct attribution *a, uint64_t ns);

/* Does naming this pc (as in attribution_find()) take more than a record and its scopes: hs_code_read_rest()? */
bool attribution_needs_rest(const struct code *code, int64_t pc_offset, int return_address);
/*
 * If naming this pc (as in attribution_find()) takes the graph of its code: builds it, and reads from the JVM the data for
 * naming all pcs of the code, once for each code. To be called while the target lives: by the end it may have exited,
 * or unloaded classes.
 */
void attribution_prepare(struct attribution *a, const struct code *code, int64_t pc_offset, int return_address);

/*
 * To be called between hotspot_forget_begin() and hotspot_forget_end(), after everything else was kept. Keeps further
 * methods that naming will need, and forgets the callees of all others.
 */
void attribution_keep(struct attribution *a, struct hotspot *hs);

/*
 * pc_offset: from code begin. return_address: the pc is one. It should have an exact record; only a leaf call to a stub
 * has none, and its call instruction is attributed like a sampled pc. ret->n is at least 1 for an nmethod.
 */
void attribution_find(struct attribution *a, const struct code *code, int64_t pc_offset, int return_address,
		      struct attributed *ret);

#endif
