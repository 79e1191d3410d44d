#ifndef JS_HOTSPOT_FORGET_H
#define JS_HOTSPOT_FORGET_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * In a JVM that keeps loading and unloading classes, copies of code and methods would pile up. So those that are no
 * longer needed are freed now and then: code that is no longer in the code cache, and methods in no code and no stack.
 * Between hotspot_forget_begin() and hotspot_forget_end(), the caller names the ids that it uses. Ids are never reused:
 * hs_code() and hs_method() return NULL for a forgotten one, so a frame may lose its name, but never gets another's.
 * Must not be called during a walk.
 */
bool hotspot_forget_due(const struct hotspot *hs); /* enough was copied since the last time */
void hotspot_forget_begin(struct hotspot *hs);
void hotspot_keep_code(struct hotspot *hs, uint32_t id); /* and its methods */
bool hotspot_keep_method(struct hotspot *hs, uint32_t id); /* false: kept already, or unknown */
bool hotspot_keeps_method(const struct hotspot *hs, uint32_t id);
void hotspot_forget_end(struct hotspot *hs);

/*
 * For JVMs that are sampled for days: from now on, code that is in the code cache is forgotten, too, if no walk has
 * used it for so long, and of compiled code, the bytes, which are most of a copy, and the methods that no stack has
 * needed are copied only on demand (by hs_code_find(), hs_code_read_frame() and hs_code_read_rest()).
 */
void hotspot_forget_unused(struct hotspot *hs, uint64_t ns);

/*
 * Bytes held at the last hotspot_forget_end() for ids that the caller named and that are no longer in the code cache.
 * Nothing limits these but the number of the caller's ids.
 */
uint64_t hotspot_kept_bytes(const struct hotspot *hs);

#endif
