#ifndef JS_BASE_MAP_H
#define JS_BASE_MAP_H

#include "symbolizer/base/hash.h"

/*
 * Hash maps of elements that are allocated one by one: uthash, configured for the whole tree. When memory runs out, an
 * insertion leaves the map as it was (the element's hh.tbl is NULL then) instead of ending the program. Keys are hashed
 * with the secret of hash.h, since targets choose most of them. Elements of an array are found with slots.h, numbers by
 * 64-bit keys with u64map.h, strings with strtab.h, and what covers an address with sorted.h.
 */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = (unsigned)hash_bytes_secret(keyptr, keylen))
#include <uthash.h>

#endif
