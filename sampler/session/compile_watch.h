#ifndef JS_SESSION_COMPILE_WATCH_H
#define JS_SESSION_COMPILE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

struct buf;
struct hotspot;
struct profile;

/*
 * How the methods that were sampled go through the compilers: when each was first seen compiled,
 * and the last reading of its state in the JVM (compile_state.h). Of one hotspot; read again now
 * and then, because a target may end at any moment.
 */
struct compile_watch;

struct compile_watch *compile_watch_new(uint64_t start_ns);
void compile_watch_free(struct compile_watch *w);

/* After each walk: cheap while there is no new code. */
void compile_watch_codes(struct compile_watch *w, const struct hotspot *hs, uint64_t now_ns);

/* Behind hotspot_forget_end(). */
void compile_watch_forget(struct compile_watch *w, const struct hotspot *hs);

/* Is it time for compile_watch_read()? */
bool compile_watch_due(const struct compile_watch *w, uint64_t now_ns);

/* Reads states of methods in `p`: all of them, or a bounded number in turn. */
void compile_watch_read(struct compile_watch *w, struct hotspot *hs, const struct profile *p,
			uint64_t now_ns, bool all);

/* A resolver_compile_fn. hs: where the id is from. */
struct compile_watch_notes {
	struct compile_watch *watch;
	const struct hotspot *hs;
};
void compile_watch_note(void *ctx, uint32_t method_id, struct named_compile *ret,
			struct buf *why);

#endif
