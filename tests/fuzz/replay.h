#ifndef JS_FUZZ_REPLAY_H
#define JS_FUZZ_REPLAY_H

#include <stddef.h>

/* Parses a decompressed recording and replays it through the whole pipe; results are dropped. */
void fuzz_replay(const void *bytes, size_t len);

#endif
