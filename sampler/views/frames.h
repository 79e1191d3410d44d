#ifndef JS_VIEWS_FRAMES_H
#define JS_VIEWS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"
#include "symbolizer/base/vec.h"

/* The frames of one stack, leaf first, inlined ones as frames of their own. Zero-initialise. */
struct frames {
	VEC(const struct named_line *) list;
};

/* 0 or -ENOMEM. A location without lines and an empty stack are one frame without a name. The lines
 * are borrowed from the profile. */
int frames_of(struct frames *f, const struct named_profile *np, uint32_t stack);
void frames_done(struct frames *f);

/*
 * Leaves out what starts a thread of a JVM, below its outermost Java method: clone3, JavaThread::run, call_stub.
 * Only where all of that belongs to the JVM, its launcher and the C library: an application that calls into a JVM
 * keeps its own frames. Returns whether there was such a part.
 */
bool frames_skip_start(struct frames *f, const struct named_profile *np, uint32_t stack);

/* String id of a frame's name. */
static inline uint32_t frame_name(const struct named_profile *np, const struct named_line *l)
{
	return np->functions[l->function].name;
}

/* What stands for a name; "[unknown]" for an empty one. */
const char *frame_name_text(const struct named_profile *np, uint32_t name);

/* Process, thread or state in front of the stack proper. */
static inline bool frame_is_root_label(const struct named_line *l)
{
	return l->kind == NAMED_THREAD || l->kind == NAMED_PROCESS || l->kind == NAMED_STATE;
}

#endif
