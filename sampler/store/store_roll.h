#ifndef JS_STORE_STORE_ROLL_H
#define JS_STORE_STORE_ROLL_H

#include <stdint.h>

struct day;
struct err;

/*
 * Adds up the buckets of `from` in the wider step of `to` that starts at `at`, and replaces what `to` has there, within the
 * transaction that has begun on `to`. So it can be repeated.
 */
int store_roll(struct day *from, struct day *to, int64_t at, struct err *err);

#endif
