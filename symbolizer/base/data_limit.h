#ifndef JS_BASE_DATA_LIMIT_H
#define JS_BASE_DATA_LIMIT_H

#include <stdint.h>

/*
 * For a child that parses hostile input: limits the private writable memory of this process (RLIMIT_DATA) to its
 * present size plus `more` bytes. Mapped files do not count: a libjvm.so with all its symbols is a gigabyte. If /proc
 * cannot be read, no limit is set; a lower one stays.
 */
void data_limit(uint64_t more);
/* Opens the file that data_limit() needs, before a system call filter forbids it. */
void data_limit_prepare(void);

/* Sanitizers need memory of their own for everything that is allocated or was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DATA_LIMIT_FACTOR 16
#else
#define DATA_LIMIT_FACTOR 1
#endif

#endif
