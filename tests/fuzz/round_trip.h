#ifndef JS_FUZZ_ROUND_TRIP_H
#define JS_FUZZ_ROUND_TRIP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes as the file `name`: if they can be read, every format writes the profile, and what goes
 * through folded text and through pprof prints the same again.
 */
void round_trip(const uint8_t *data, size_t size, const char *name);

#endif
