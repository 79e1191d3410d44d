#ifndef JS_ENGINE_SUSPEND_WISHES_H
#define JS_ENGINE_SUSPEND_WISHES_H

struct suspend_tick;

/* What the engine's owner wants done to single threads (enum engine_wish). Both once a tick. */

void suspend_wishes_fulfil(struct suspend_tick *t);

/* With `ask_first`, the owner is asked again about each thread now and then: names change, and Java threads have theirs
 * a moment after they are there. */
void suspend_wishes_ask(struct suspend_tick *t);

#endif
