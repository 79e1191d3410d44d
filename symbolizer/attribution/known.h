#ifndef JS_ATTRIBUTION_KNOWN_H
#define JS_ATTRIBUTION_KNOWN_H

#include "symbolizer/attribution/env.h"

/*
 * What was asked of the JVM once is not asked again: it may have ended since, or unloaded the class.
 * Bounded.
 */
struct known;

struct hotspot;

struct known *known_new(const struct attribution_env *env);
void known_free(struct known *k);

/* attribution_keep() */
void known_keep(struct known *k, struct hotspot *hs);

/* The same questions, answered from memory where the answer is known. Borrowed. */
const struct attribution_env *known_env(const struct known *k);

#endif
