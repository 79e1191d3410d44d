#ifndef JS_BASE_MAP_H
#define JS_BASE_MAP_H

#include "symbolizer/base/hash.h"

/*
 * Hash maps of elements that are allocated one by one: uthash, configured for the whole tree. When memory runs out, an
 * insertion leaves the map as it was (the element's hh.tbl is then NULL) instead of ending the program. Keys are hashed
 * with the secret of hash.h, since targets choose most of them. For other data: slots.h indexes elements of an array,
 * u64map.h maps 64-bit keys to numbers, strtab.h interns strings, and sorted.h finds ranges by address.
 */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = (unsigned)hash_bytes_secret(keyptr, keylen))
#include <uthash.h>

#endif
