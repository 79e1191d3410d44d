#ifndef JS_SESSION_BRIDGE_GONE_CODE_H
#define JS_SESSION_BRIDGE_GONE_CODE_H

#include <stdint.h>

struct bridge;
struct code;
struct hotspot;
struct timeline_code;
struct walk;

/*
 * Finds code and methods that the JVM has discarded between a sample and its walk, by the times in the bridge's
 * stream. For one JVM.
 */
struct gone_code;

struct gone_code *gone_code_new(struct bridge *b, struct hotspot *hs); /* both borrowed; NULL: out of memory */
void gone_code_free(struct gone_code *t); /* before hs is closed; NULL is fine */

/* Call before each walk: reads the frame sizes of new code while it exists. */
void gone_code_prepare(struct gone_code *t);
/* Call after each walk. */
void gone_code_note(struct gone_code *t, const struct walk *w, uint64_t time_ns);

/* Call before naming, when the stream is complete: names methods that were only sampled. */
void gone_code_finish(struct gone_code *t);

/* What the stream says about this code: a resolver_code_fn. */
const struct timeline_code *gone_code_code(void *ctx, const struct code *c);

struct gone_code_stats {
	uint64_t gone, gone_methods; /* frames found by time only: compiled, interpreted */
};
struct gone_code_stats gone_code_stats(const struct gone_code *t);

#endif
