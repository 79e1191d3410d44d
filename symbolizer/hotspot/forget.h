#ifndef JS_HOTSPOT_FORGET_H
#define JS_HOTSPOT_FORGET_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * In a JVM that loads and unloads classes all the time, copies of code and methods would pile up. Now and then, those
 * that nothing needs any more are freed: code that is no longer in the code cache, and methods in no code and no
 * stack. Between begin and end, the caller names the ids that it has. Ids are never reused: hs_code() and
 * hs_method() return NULL for what was forgotten, so that a frame may lose its name, but never gets
 * another's. Must not be called during a walk.
 */
bool hotspot_forget_due(const struct hotspot *hs); /* enough was copied since the last time */
void hotspot_forget_begin(struct hotspot *hs);
void hotspot_keep_code(struct hotspot *hs, uint32_t id); /* and its methods */
bool hotspot_keep_method(struct hotspot *hs, uint32_t id); /* false: it is kept already, or unknown */
bool hotspot_keeps_method(const struct hotspot *hs, uint32_t id);
void hotspot_forget_end(struct hotspot *hs);

/*
 * Bytes held at the last hotspot_forget_end() for what the caller named and the code cache does not have:
 * only the number of the caller's ids bounds them.
 */
uint64_t hotspot_kept_bytes(const struct hotspot *hs);

#endif
