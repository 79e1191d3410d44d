#ifndef JS_SESSION_CHILDREN_H
#define JS_SESSION_CHILDREN_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/engine/engine.h"

struct err;
struct named_builder;
struct session;
struct session_summary;

/*
 * The processes that a session's target starts, and those that they start: one engine samples all of them, and each that
 * has a sample gets a session of its own to walk, count and name it. One that has ended is named, and its session closed,
 * when room is needed for another.
 */
enum {
	CHILDREN_OPEN = 64, /* sessions at a time */
	CHILDREN_MAX = 2000, /* in all: each has a root frame of its own */
};

struct children;

struct children *children_new(struct session *owner); /* NULL: out of memory */
void children_free(struct children *c);

/* What the engine is to take aside of threads of all processes; `target`: of the target's. */
struct engine_aside children_aside(struct children *c, struct engine_aside target);
/* In place of session_sink(): hands each process's samples to its session. */
struct engine_sink children_sink(struct children *c);

void children_start(struct children *c); /* sampling begins: CPU time counts from now on */
void children_end(struct children *c); /* sampling has ended */

size_t children_sampled(const struct children *c); /* processes that have samples */
/* All that was sampled of them, named; their sessions are closed. 0 or an error. */
int children_add_results(struct children *c, struct named_builder *b, struct err *err);
void children_summary(const struct children *c, struct session_summary *sum);

#endif
