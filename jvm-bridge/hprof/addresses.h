#ifndef JS_HPROF_ADDRESSES_H
#define JS_HPROF_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * What objects are called in the binary output: addresses as they could be in a heap, one behind the other. Readers conclude
 * from the gaps whether references are compressed, which jobjectIDs, all of one size, would mislead. Classes and threads have
 * theirs for good, other objects for one dump. All functions: with hprof.data.
 */
uint64_t address_lasting(void); /* another one */
uint64_t address_next(size_t size); /* another one in this dump, of so many bytes */
bool address_set(jobjectID id, uint64_t address); /* in this dump; false: out of memory */
uint64_t address_of(jobjectID id); /* 0: it is not in this dump */
void addresses_clear(void);

#endif
