#ifndef JS_ATTRIBUTION_ENV_CACHE_H
#define JS_ATTRIBUTION_ENV_CACHE_H

#include "symbolizer/attribution/env.h"

/* A bounded cache of information from the JVM, since the JVM may exit later, or unload the class. */
struct env_cache;

struct hotspot;

struct env_cache *env_cache_new(const struct attribution_env *env);
void env_cache_free(struct env_cache *k);

/* attribution_keep() */
void env_cache_keep(struct env_cache *k, struct hotspot *hs);

/* The same functions, but cached. Borrowed. */
const struct attribution_env *env_cache_env(const struct env_cache *k);

#endif
