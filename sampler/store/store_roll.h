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

#endif
