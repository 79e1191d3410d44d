#include <stddef.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/raw_sample.h"
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

const char *thread_state_name(enum thread_state state)
{
	static const char *const names[THREAD_STATES] = {
		[THREAD_RUNNING] = "running", [THREAD_RUNNABLE] = "runnable", [THREAD_SLEEPING] = "sleeping",
		[THREAD_MONITOR] = "blocked", [THREAD_WAITING] = "waiting",   [THREAD_PARKED] = "parked",
		[THREAD_NATIVE] = "native",
	};
	const char *name = (unsigned)state < THREAD_STATES ? names[state] : NULL;

	return name ? name : "unknown";
}

const char *frame_mark_text(enum frame_mark mark)
{
	static const char *const texts[FRAME_MARKS] = {
		[MARK_INCOMPLETE] = "[incomplete]",
		[MARK_RESYNCHRONISED] = "[resynchronised]",
		[MARK_FROZEN] = "[frozen]",
		[MARK_TRUNCATED] = "[truncated]",
		[MARK_DEOPT] = "[deopt]",
		[MARK_STORAGE_LIMIT] = "[storage limit]",
		[MARK_UNSAMPLED_SHORT] = "[not sampled: short-lived threads]",
		[MARK_UNSAMPLED_KERNEL] = "[not sampled: kernel]",
	};

	return (unsigned)mark < FRAME_MARKS ? texts[mark] : NULL;
}
