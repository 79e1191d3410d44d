#ifndef JS_BASE_DATA_LIMIT_H
#define JS_BASE_DATA_LIMIT_H

#include <stdint.h>

/*
 * Limits the private writable memory of this process (RLIMIT_DATA) to what it has now and `more` bytes: for a child
 * that parses what is hostile. Mapped files do not count: a libjvm.so with all its symbols has a gigabyte. Where
 * /proc cannot be read, there is no limit.
 */
void data_limit(uint64_t more);

/* Sanitizers keep memory of their own, for each byte that is allocated and for what was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DATA_LIMIT_FACTOR 16
#else
#define DATA_LIMIT_FACTOR 1
#endif

#endif
