#ifndef JS_STORE_STORE_ROLL_H
#define JS_STORE_STORE_ROLL_H

#include <stdint.h>

struct day;
struct err;

/*
 * Adds up the buckets of `from` to the wider step of `to` that starts at `at`, replacing what `to` has there, in the
 * transaction open on `to`. So it can be repeated.
 */
int store_roll(struct day *from, struct day *to, int64_t at, struct err *err);

/*
 * What numbers of one open file stand for in another: most of what is added up was there in the step before, too, and
 * would otherwise be translated, and its stacks be read from the file, each time. 2 to 4 MB on a busy host.
 */
struct rolled;
void rolled_free(struct rolled *r); /* NULL is allowed */

#endif
