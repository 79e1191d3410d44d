#ifndef JS_SESSION_PARTS_HELD_SAMPLES_H
#define JS_SESSION_PARTS_HELD_SAMPLES_H

#include <stdbool.h>

struct budget;
struct raw_sample;

/*
 * Samples of a JVM that is starting, in code that only its tables explain. The tables are not
 * filled in yet (the JVM may still be asking the processor what it can do), but will be soon, and
 * the code stays where it is: such samples wait until then. At most HELD_MAX samples of HELD_BYTES
 * in all, which count towards a budget.
 */
struct held_samples;

enum { HELD_MAX = 256, HELD_BYTES = 4 << 20 };

/* `b` is borrowed, NULL: no limit. NULL: out of memory. */
struct held_samples *held_samples_new(struct budget *b);
void held_samples_free(struct held_samples *h); /* NULL is fine */

/* Copies the sample and everything that it points to. False: there is no room. */
bool held_samples_add(struct held_samples *h, const struct raw_sample *sample);

/* Removes the oldest sample; valid until the next call with `h`. NULL: there is none. */
const struct raw_sample *held_samples_next(struct held_samples *h);

#endif
