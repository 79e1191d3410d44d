#ifndef JS_SESSION_CHILDREN_H
#define JS_SESSION_CHILDREN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"

struct err;
struct named_builder;
struct profile_memory;
struct session;
struct session_summary;

/*
 * The processes that a session's target starts, and those that they start in turn. One engine samples all of them.
 * Each process that has a sample gets a session of its own, which walks, counts and names its stacks. When another
 * one needs room, a process that has ended is named and its session closed.
 */
enum {
	CHILDREN_OPEN = 64, /* sessions at the same time */
	CHILDREN_MAX = 2000, /* in total: each has a root frame of its own */
};

struct children;

struct children *children_new(struct session *owner); /* NULL: out of memory */
void children_free(struct children *c);

/* Memory limit for all of them together, ended ones too, besides the target's own profile: the same as for that. */
struct profile_memory *children_memory(struct children *c);

/*
 * What the engine copies besides the stacks, for all processes; `target`: the same for the target
 * alone.
 */
struct engine_frozen children_frozen_options(struct children *c, struct engine_frozen target);
struct session *children_find(struct children *c, pid_t pid); /* NULL: it has no session */
/*
 * The session that counts the sample; opened if this is the first one of its process. NULL: the process has a session
 * of its own (session_options.apart), or it could not be read, which is counted.
 */
struct session *children_of_sample(struct children *c, const struct raw_sample *sample);
void children_started(struct children *c, pid_t pid);

void children_start(struct children *c); /* sampling begins: CPU time counts from here */
void children_end(struct children *c); /* sampling has ended */

/* Async-signal-safe: sampling is to end, so a process that is being named has to be done soon. */
void children_hurry(struct children *c);

size_t children_sampled(const struct children *c); /* processes that have samples */
/* Adds everything that was sampled of them, named, and closes their sessions. 0 or an error. */
int children_add_results(struct children *c, struct named_builder *b, struct err *err);
void children_summary(const struct children *c, struct session_summary *sum);

#endif
