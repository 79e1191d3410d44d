#ifndef JS_BRIDGE_FRAMES_H
#define JS_BRIDGE_FRAMES_H

#include "jvm-bridge/host/rewrite/code_map.h"

/*
 * The StackMapTable attribute (JVM specification, 4.7.4). A frame belongs to the calls that are inserted before its
 * instruction: whatever branches there makes the calls, too.
 */

/* Copies the frames to their new places. -EINVAL: not a valid table. *last gets the place of the last one, -1: none. */
int frames_move(struct reader table, const struct code_map *m, struct writer *ret, long *last);
/* The frame of our own handler: no local variables, the exception on the stack. */
void frame_of_handler(struct writer *w, long last, size_t at, uint32_t throwable);

/* What a frame says about a constructor's `this`, and about objects that `new` has made and no constructor has. */
struct uninitialized {
	size_t at; /* of the frame */
	bool self;
	unsigned others; /* at most that many */
};

/* Calls f for each frame of a constructor that has `arguments` besides `this`. -EINVAL, -ENOMEM. */
int frames_of_constructor(struct reader table, unsigned arguments, size_t max_locals,
			  void (*f)(const struct uninitialized *u, void *arg), void *arg);

#endif
