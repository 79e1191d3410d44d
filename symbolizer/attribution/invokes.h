#ifndef JS_ATTRIBUTION_INVOKES_H
#define JS_ATTRIBUTION_INVOKES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/env.h"

/* Where a method calls others, remembered: it is asked for every pc. Bounded. */
struct invokes_memo *invokes_memo_new(void);
void invokes_memo_free(struct invokes_memo *m);

struct invokes {
	const uint16_t *bcis; /* ascending; borrowed until the next call */
	uint32_t n;
};

/* false: not all bytecodes of the method are known, or there is no env->invokes. */
bool method_invokes(const struct attribution_env *env, uint32_t method_id, struct invokes *ret);

#endif
