#ifndef JS_BASE_DATA_LIMIT_H
#define JS_BASE_DATA_LIMIT_H

#include <stdint.h>

/*
 * Limits the private writable memory of this process (RLIMIT_DATA) to what it has now plus `more` bytes, in a child
 * that parses hostile input. Mapped files do not count: a libjvm.so with all its symbols has a gigabyte. Where
 * /proc cannot be read, no limit is set.
 */
void data_limit(uint64_t more);
/* Opens what that needs, where a filter of system calls will not let it. */
void data_limit_prepare(void);

/* Sanitizers need memory of their own for all that is allocated or was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DATA_LIMIT_FACTOR 16
#else
#define DATA_LIMIT_FACTOR 1
#endif

#endif
