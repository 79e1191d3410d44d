#ifndef JS_SESSION_BRIDGE_H
#define JS_SESSION_BRIDGE_H

#include <stdbool.h>

struct budget;
struct err;
struct hotspot;
struct maps;
struct proc;
struct timeline;

/*
 * The bridge in one target: loaded (or found there), connected, and read by a thread of its own into a
 * timeline. Names and times of compiled code come from it, never the walk.
 */
struct bridge;

enum bridge_mode {
	BRIDGE_AUTO, /* where it is loaded already */
	BRIDGE_ON, /* it gets loaded */
	BRIDGE_OFF,
};

/* The path of the bridge library in those mappings, borrowed; NULL: it is not mapped. */
const char *bridge_mapped(const struct maps *maps);

/* While this program has its privileges. *ret NULL without an error: nothing to do. What is told takes bytes out of
 * `budget`, borrowed. */
int bridge_open(struct proc *proc, const struct maps *maps, enum bridge_mode mode, struct budget *budget,
		struct bridge **ret, struct err *err);

/*
 * When the JVM can be read, and privileges were dropped: decides whether attaching does no harm, and
 * starts. `wait`: for the connection; then an error of mode ON is one of this call. Otherwise, and
 * with AUTO, it is said in the log. Only the first call does something.
 */
int bridge_connect(struct bridge *b, struct hotspot *hs, bool wait, struct err *err);

/* Between these the timeline does not change; NULL: not connected (then there is nothing to unlock). */
struct timeline *bridge_lock(struct bridge *b);
void bridge_unlock(struct bridge *b);

/* Waits, two seconds at most, for everything that happened until now; then disconnects. */
void bridge_finish(struct bridge *b);
void bridge_close(struct bridge *b); /* NULL is fine */

#endif
