#ifndef JS_MODEL_WALK_H
#define JS_MODEL_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"

/*
 * Why a walk ended. None of these is an error: every sample has one, which is counted and shown with -v. With any but
 * ROOT, the root of the stack is `[incomplete]`, except with NO_USER if there are only kernel frames (walk_quality() in
 * sampler/profile/profile.c).
 */
enum walk_end {
	WALK_ROOT, /* the thread's first frame was reached: the stack is complete */
	WALK_NO_USER, /* kernel thread, or a sample without user registers */
	WALK_NO_CFI, /* native code without unwind rows, and no anchor to go on from */
	WALK_BAD_MEMORY, /* a needed stack word could not be read */
	WALK_NO_PROGRESS, /* the stack pointer did not move towards the stack base */
	WALK_BAD_PC, /* the pc lies in no mapping, or not in executable memory */
	WALK_NO_BLOB, /* code cache address without a blob */
	WALK_BAD_FRAME, /* a Java frame that makes no sense */
	WALK_DEOPT, /* the stack was being rebuilt by a deoptimisation */
	WALK_CHANGED, /* code was replaced during the walk, again and again */
	WALK_TOO_DEEP, /* hard limit on frames (65,536) */
	WALK_ENDS
};

const char *walk_end_name(enum walk_end end);

/* A walked stack: keys, leaf first. `frames` belongs to the unwinder until its next walk. */
struct walk {
	struct frame_key *frames;
	uint32_t n;
	enum walk_end end;
	bool resynchronised; /* crossed a gap by the frame anchor */
	bool heap; /* frames of a virtual thread were read from the heap */
	bool frozen; /* outer frames are in the heap (virtual thread); the carrier's frames may follow */
	bool java; /* has a Java frame */
	uint64_t continuation; /* the mounted one: its address in the Java heap; 0: none, or not found */
	uint64_t fail_pc, fail_sp; /* where it stopped, when end != WALK_ROOT */
};

#endif
