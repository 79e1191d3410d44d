#ifndef JS_TESTS_STORAGE_LIMIT_H
#define JS_TESTS_STORAGE_LIMIT_H

#include "sampler/profile/profile.h"

/* Is it the stack of samples that there was no room for: [storage limit] alone? */
static inline bool is_storage_limit(const struct profile *p, uint32_t stack)
{
	struct stack_cursor c = profile_stack(p, stack);
	uint32_t frame;

	return c.left == 1 && profile_next(&c, &frame) && profile_frame(p, frame)->kind == FRAME_MARK &&
	       profile_frame(p, frame)->off == MARK_STORAGE_LIMIT;
}

#endif
