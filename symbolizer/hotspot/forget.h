#ifndef JS_HOTSPOT_FORGET_H
#define JS_HOTSPOT_FORGET_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * In a JVM where classes and code come and go for ever, copies of them would pile up. Now and then those that
 * nothing needs any more are freed: code that no longer stands in the code cache, and methods of no code and no
 * stack. Between begin and end the caller names what it has ids of. Ids are never given twice: hs_code() and
 * hs_method() answer NULL for what was forgotten, so a forgotten frame may lose its name, but never gets
 * another's. Not during a walk.
 */
bool hotspot_forget_due(const struct hotspot *hs); /* enough has come since the last time */
void hotspot_forget_begin(struct hotspot *hs);
void hotspot_keep_code(struct hotspot *hs, uint32_t id); /* and its methods */
bool hotspot_keep_method(struct hotspot *hs, uint32_t id); /* false: it is kept already, or unknown */
bool hotspot_keeps_method(const struct hotspot *hs, uint32_t id);
void hotspot_forget_end(struct hotspot *hs);

/*
 * Bytes that were held at the last hotspot_forget_end() for what was named there and is not in the code cache:
 * nothing but the caller's ids bounds them.
 */
uint64_t hotspot_kept_bytes(const struct hotspot *hs);

#endif
