#ifndef JS_WATCH_CROWD_LOSSES_H
#define JS_WATCH_CROWD_LOSSES_H

#include <stdint.h>

struct crowd;

/*
 * What the rings, the queue and the rules about late samples have cost so far: counted, reported to the first process,
 * logged, and made good where that is possible. If side-band records were lost, an execve(2), a thread's new name or its
 * end may be among them; any program can cause this, so members are looked at again only every few seconds, and only
 * once. To be called once a second.
 */
void crowd_losses_turn(struct crowd *c, uint64_t now_ns);
void crowd_losses_end(struct crowd *c); /* the same, for the last time */

#endif
