#ifndef JS_VIEWS_FRAMES_H
#define JS_VIEWS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"
#include "symbolizer/base/vec.h"

/* The frames of a stack, leaf first, with inlined ones as separate frames. Zero-initialise. */
struct frames {
	VEC(const struct named_line *) list;
};

/*
 * A location without lines and an empty stack have one frame without a name. Lines are borrowed
 * from the profile. 0 or -ENOMEM.
 */
int frames_of(struct frames *f, const struct named_profile *np, uint32_t stack);
void frames_done(struct frames *f);

/*
 * Leaves out the frames that start a thread of a JVM, below its outermost Java method: clone3,
 * JavaThread::run, call_stub. Only if all of them belong to the JVM, its launcher and the C
 * library: an application that calls into a JVM keeps its own frames. Where a profile has no files
 * (folded text), names decide. Returns whether there were such frames.
 */
bool frames_skip_start(struct frames *f, const struct named_profile *np, uint32_t stack);

/* String id of a frame's name. */
static inline uint32_t frame_name(const struct named_profile *np, const struct named_line *l)
{
	return np->functions[l->function].name;
}

/* The name to show; "[unknown]" for an empty one. */
const char *frame_name_text(const struct named_profile *np, uint32_t name);

#endif
