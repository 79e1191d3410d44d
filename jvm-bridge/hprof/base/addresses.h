#ifndef JS_HPROF_ADDRESSES_H
#define JS_HPROF_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * Ids of objects in the binary output: made-up addresses, one after the other as in a heap. Readers infer from the
 * gaps whether references are compressed; jobjectIDs, which are all the same size apart, would mislead them. Classes
 * and threads keep theirs, other objects get one per dump. All functions: with hprof.data.
 */
uint64_t address_lasting(void); /* a new one that stays valid */
uint64_t address_next(size_t size); /* a new one in this dump, for an object of `size` bytes */
bool address_set(jobjectID id, uint64_t address); /* in this dump; false: out of memory */
uint64_t address_of(jobjectID id); /* 0: not in this dump */
void addresses_clear(void);

#endif
