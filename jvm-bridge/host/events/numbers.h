#ifndef JS_BRIDGE_NUMBERS_H
#define JS_BRIDGE_NUMBERS_H

#include "jvm-bridge/host/base/bridge.h"

/* The numbers that inserted calls have as their argument, and the methods that they are of. */
enum { NUMBERS_MAX = 1 << 24 };

bool numbers_take(unsigned n, uint32_t *first); /* n in a row; false: none are left, or out of memory */
jmethodID number_method(uint32_t number); /* NULL: not known yet */
/* The method that the calling thread is in, one frame above native code: that of the number. NULL: the JVM does not tell. */
jmethodID number_learn(uint32_t number);

#endif
