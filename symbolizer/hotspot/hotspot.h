#ifndef JS_HOTSPOT_HOTSPOT_H
#define JS_HOTSPOT_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/hotspot/reader/jvm_facts.h"

/*
 * One HotSpot JVM seen from outside: no agent, no JVM flag, no writes. Layouts come from the JVM's
 * own tables (gHotSpotVMStructs); hs_layout.h names every field that is used. All memory is untrusted.
 * One thread owns a hotspot.
 */
struct hotspot;
struct mem;
struct budget;
struct err;

/*
 * `mem` is borrowed and outlives the hotspot. -EAGAIN: the JVM is still starting (retry later);
 * -ENOTSUP: a required table entry is missing, the message names every missing one.
 */
int hotspot_open(struct mem *mem, hs_symbol_fn *symbol, void *ctx, struct hotspot **ret, struct err *err);
/* Copies of code and methods take bytes out of `b` (borrowed); if there are none left, nothing is copied. */
void hotspot_set_budget(struct hotspot *hs, struct budget *b);
void hotspot_close(struct hotspot *hs);

const struct hs_version *hotspot_version(const struct hotspot *hs);

/* A VM flag by name: its value as up to 8 bytes, zero-extended. -ENOENT. origin: low 4 bits of
 * JVMFlag::_flags (0 default, 1 command line, ...), may be NULL. */
int hotspot_flag(struct hotspot *hs, const char *name, uint64_t *ret, int *ret_origin);

/* What to tell the user with -v: which optional fields are missing, and what does not work without them.
 * NULL-terminated list, borrowed. */
const char *const *hotspot_notes(const struct hotspot *hs);

/*
 * Consistency of a walk. Between begin and end, every code blob and method that a look-up found in
 * the cache is noted; end reads their identities again in one batch and returns false if one was replaced
 * meanwhile (the caches have then dropped it, and the caller walks again).
 */
void hotspot_walk_begin(struct hotspot *hs);

/*
 * Times for the next walk (ns, of one clock): of the sample, and the present or a little earlier. What was found
 * unchanged after the sample was taken was also the same when it was taken, and is not read
 * again: one check serves a batch of samples. Without this call, or with 0, everything is checked.
 */
void hotspot_walk_times(struct hotspot *hs, uint64_t sample_ns, uint64_t now_ns);
bool hotspot_walk_end(struct hotspot *hs);

struct hotspot_stats {
	uint64_t codes, methods; /* interned */
	uint64_t lookups, remote_lookups, replaced, bad_blobs, bad_methods;
	uint64_t forgotten_codes, forgotten_methods; /* forget.h */
	uint64_t bytes; /* memory held */
};
struct hotspot_stats hotspot_stats(const struct hotspot *hs);

#endif
