#ifndef JS_MODEL_WALK_H
#define JS_MODEL_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"

/*
 * Why a walk stopped. None of these is an error: every sample has one, it is counted and shown with
 * -v, and anything but ROOT puts `[incomplete]` at the root of the stack.
 */
enum walk_end {
	WALK_ROOT, /* the thread's first frame was reached: the stack is whole */
	WALK_NO_USER, /* kernel thread, or a sample without user registers */
	WALK_NO_CFI, /* native code without unwind rows, and no anchor to go on from */
	WALK_BAD_MEMORY, /* a needed stack word could not be read */
	WALK_NO_PROGRESS, /* the stack pointer did not move towards the stack base */
	WALK_BAD_PC, /* the pc lies in no mapping, or not in executable memory */
	WALK_NO_BLOB, /* code cache address without a blob */
	WALK_BAD_FRAME, /* a Java frame that makes no sense */
	WALK_DEOPT, /* the stack was being rebuilt by a deoptimisation */
	WALK_CHANGED, /* code was replaced under the walk, again and again */
	WALK_TOO_DEEP, /* hard limit on frames (65,536) */
	WALK_ENDS
};

const char *walk_end_name(enum walk_end end);

/* A walked stack: keys, leaf first. `frames` belongs to the unwinder until its next walk. */
struct walk {
	struct frame_key *frames;
	uint32_t n;
	enum walk_end end;
	bool resynchronised; /* crossed a gap through the frame anchor */
	bool heap; /* frames of a virtual thread were read from the heap */
	bool frozen; /* outer frames lie in the heap (virtual thread), carrier frames follow or not */
	bool java; /* holds a Java frame */
	uint64_t continuation; /* mounted when it was sampled: address in the Java heap; 0: none, or not seen */
	uint64_t fail_pc, fail_sp; /* where it stopped, when end != WALK_ROOT */
};

#endif
