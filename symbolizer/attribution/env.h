#ifndef JS_ATTRIBUTION_ENV_H
#define JS_ATTRIBUTION_ENV_H

#include <stdint.h>

#include "symbolizer/attribution/attribution.h"
#include "symbolizer/hotspot/code/roles.h"
#include "symbolizer/hotspot/code/trap.h"
#include "symbolizer/hotspot/methods/method.h"

/*
 * What attribution needs to know about the JVM besides a struct code, from a running JVM (attribution_new()), or from
 * tables in a test. All functions except `role` may be NULL: then nothing is inferred.
 */
struct attribution_env {
	void *ctx;
	int major; /* JDK */
	enum blob_role (*role)(void *ctx, uint64_t target);
	const struct hs_method *(*method)(void *ctx, uint32_t id);
	/* Reads bytes of the code cache as they are now (also constants, which precede the code); returns the count. */
	uint32_t (*bytes)(void *ctx, uint64_t addr, uint8_t *dst, uint32_t len);
	/* The method that the invoke bytecode at bci calls; 0: unknown or uncertain. */
	uint32_t (*callee)(void *ctx, uint32_t method_id, int32_t bci);
	/* The kind of check that leads to the uncommon trap with this request. */
	enum trap_kind (*trap)(void *ctx, int32_t request);
	struct traits_memo *traits; /* cache of methods' traits (traits.h) */
	struct invokes_memo *invokes; /* cache of methods' calls (invokes.h) */
};

/* Limit of the total CPU time for control-flow analysis; attribution_refused(). */
#define ATTRIBUTION_LIMIT_NS UINT64_C(10000000000)

struct graph_cache;

/* As attribution_new(). */
struct attribution *attribution_new_env(const struct attribution_env *env, uint64_t limit_ns,
					struct graph_cache *cache);

#endif
