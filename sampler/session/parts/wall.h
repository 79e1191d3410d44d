#ifndef JS_SESSION_PARTS_WALL_H
#define JS_SESSION_PARTS_WALL_H

#include <sys/types.h>

#include "sampler/session/parts/part.h"

/*
 * For -e wall. Keeps the last walk of each thread: a thread that has not run since is still there.
 * Finds the state to count: HotSpot may know more about what the engine calls blocked.
 */
struct wall;

struct wall *wall_new(void); /* NULL: out of memory */
extern const struct part_ops wall_part;

/*
 * The thread's last walk, borrowed until the next call; NULL: there is none, or `w` is NULL. `found`: the engine's
 * state of the thread now; *ret_state: the state to count.
 */
const struct walk *wall_again(struct wall *w, pid_t tid, enum thread_state found, enum thread_state *ret_state);

#endif
