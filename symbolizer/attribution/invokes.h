#ifndef JS_ATTRIBUTION_INVOKES_H
#define JS_ATTRIBUTION_INVOKES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/env.h"

/* A bounded cache of the bcis at which methods call others. Every pc needs them. */
struct invokes_memo *invokes_memo_new(void);
void invokes_memo_free(struct invokes_memo *m);

struct invokes {
	const uint16_t *bcis; /* ascending; borrowed until the next call */
	uint32_t n;
};

/* false: some bytecodes of the method are unknown, or env->invokes is NULL. */
bool method_invokes(const struct attribution_env *env, uint32_t method_id, struct invokes *ret);

#endif
