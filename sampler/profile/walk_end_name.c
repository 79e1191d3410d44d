#include <stddef.h>

#include "sampler/model/walk.h"

const char *walk_end_name(enum walk_end end)
{
	static const char *const names[WALK_ENDS] = {
		[WALK_ROOT] = "root",
		[WALK_NO_USER] = "no user registers",
		[WALK_NO_CFI] = "no unwind information",
		[WALK_BAD_MEMORY] = "unreadable stack",
		[WALK_NO_PROGRESS] = "no progress",
		[WALK_BAD_PC] = "bad pc",
		[WALK_NO_BLOB] = "no code blob",
		[WALK_BAD_FRAME] = "bad Java frame",
		[WALK_DEOPT] = "deoptimisation",
		[WALK_CHANGED] = "code replaced",
		[WALK_TOO_DEEP] = "too deep",
	};
	const char *name = (unsigned)end < WALK_ENDS ? names[end] : NULL;

	return name ? name : "?";
}
