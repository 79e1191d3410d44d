#ifndef JS_ATTRIBUTION_ENV_H
#define JS_ATTRIBUTION_ENV_H

#include <stdint.h>

#include "symbolizer/attribution/attribution.h"
#include "symbolizer/hotspot/code/roles.h"
#include "symbolizer/hotspot/code/trap.h"
#include "symbolizer/hotspot/methods/method.h"

/*
 * What attribution asks of the JVM beyond a struct code: a running one (attribution_new()), or tables
 * in a test. Any function but role may be NULL: then nothing is inferred.
 */
struct attribution_env {
	void *ctx;
	int major; /* JDK */
	enum blob_role (*role)(void *ctx, uint64_t target);
	const struct hs_method *(*method)(void *ctx, uint32_t id);
	/* Bytes of the code cache as they are now (constants lie in front of the code); the count. */
	uint32_t (*bytes)(void *ctx, uint64_t addr, uint8_t *dst, uint32_t len);
	/* Method that the invoke bytecode at bci calls; 0: not known for certain. */
	uint32_t (*callee)(void *ctx, uint32_t method_id, int32_t bci);
	/* What check the uncommon trap with this request is of. */
	enum trap_kind (*trap)(void *ctx, int32_t request);
	struct traits_memo *traits; /* of methods, remembered (traits.h) */
	struct invokes_memo *invokes; /* the same of their calls (invokes.h) */
};

struct attribution *attribution_new_env(const struct attribution_env *env);

#endif
