#ifndef JS_SESSION_HELD_H
#define JS_SESSION_HELD_H

#include <stdbool.h>

struct budget;
struct raw_sample;

/*
 * Samples of a JVM that is starting, in code which only that JVM's tables explain. The tables are not filled in yet
 * (while it asks the processor what it can do, say), but soon will be, and the code stays where it is: such samples wait
 * for them. At most HELD_MAX samples of HELD_BYTES in all, which are taken out of a budget.
 */
struct held;

enum { HELD_MAX = 256, HELD_BYTES = 4 << 20 };

/* `b` is borrowed, NULL: no limit. NULL: out of memory. */
struct held *held_new(struct budget *b);
void held_free(struct held *h); /* NULL is fine */

/* Copies the sample with all that it points to. false: there is no room. */
bool held_keep(struct held *h, const struct raw_sample *sample);

/* The oldest one, which is not held any more; valid until the next call with `h`. NULL: none is left. */
const struct raw_sample *held_take(struct held *h);

#endif
