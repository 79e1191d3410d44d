#ifndef JS_SESSION_PARTS_HELD_H
#define JS_SESSION_PARTS_HELD_H

#include <stdbool.h>

struct budget;
struct raw_sample;

/*
 * Samples of a JVM that is starting, in code that only its tables explain. The tables are not
 * filled in yet (the JVM may still be asking the processor what it can do), but will be soon, and
 * the code stays where it is: such samples wait until then. At most HELD_MAX samples of HELD_BYTES
 * in all, which count towards a budget.
 */
struct held;

enum { HELD_MAX = 256, HELD_BYTES = 4 << 20 };

/* `b` is borrowed, NULL: no limit. NULL: out of memory. */
struct held *held_new(struct budget *b);
void held_free(struct held *h); /* NULL is fine */

/* Copies the sample and everything that it points to. False: there is no room. */
bool held_keep(struct held *h, const struct raw_sample *sample);

/* Removes the oldest sample; valid until the next call with `h`. NULL: there is none. */
const struct raw_sample *held_take(struct held *h);

#endif
