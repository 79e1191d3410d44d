#ifndef JS_SESSION_BRIDGE_BRIDGE_H
#define JS_SESSION_BRIDGE_BRIDGE_H

#include <stdatomic.h>
#include <stdbool.h>

struct budget;
struct err;
struct hotspot;
struct maps;
struct proc;
struct timeline;

/*
 * The bridge in one target: loaded (or found there), connected, and read into a timeline by a thread of its own.
 * Names and times of compiled code come from it; walks never need it.
 */
struct bridge;

enum bridge_mode {
	BRIDGE_AUTO, /* use it if it is loaded already */
	BRIDGE_ON, /* load it */
	BRIDGE_OFF,
};

/* Path of the bridge library in these mappings, borrowed; NULL: it is not mapped. */
const char *bridge_mapped(const struct maps *maps);

/*
 * Needs privileges. Returns 0 with *ret NULL if there is nothing to do. `budget` (borrowed) is charged for what the
 * bridge sends.
 */
int bridge_open(struct proc *proc, const struct maps *maps, enum bridge_mode mode, struct budget *budget,
		struct bridge **ret, struct err *err);

/*
 * Call once the JVM can be read and privileges have been dropped: decides whether attaching is harmless, and starts.
 * `wait`: returns when connected, or with an error in mode ON. Otherwise, and in mode AUTO, errors are only logged.
 * Calls after the first do nothing.
 */
int bridge_connect(struct bridge *b, struct hotspot *hs, bool wait, struct err *err);

/* The timeline does not change between these two calls. NULL: not connected, and nothing to unlock. */
struct timeline *bridge_lock(struct bridge *b);
void bridge_unlock(struct bridge *b);

/*
 * Waits until everything that has happened so far is known, for two seconds at most, or 0.3 seconds once any thread has
 * set `hurried`; then disconnects.
 */
void bridge_finish(struct bridge *b, const atomic_bool *hurried);
/* After bridge_finish(): what was read, borrowed; NULL: nothing, or it is still being read. */
struct timeline *bridge_timeline(const struct bridge *b);
void bridge_close(struct bridge *b); /* NULL is fine */

#endif
