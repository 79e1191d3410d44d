#ifndef JS_BASE_MAP_H
#define JS_BASE_MAP_H

#include "symbolizer/base/hash.h"

/*
 * Hash maps: uthash, set up once for the whole tree. When memory runs out an insertion leaves the
 * map as it was (the element's hh.tbl is NULL then) instead of ending the program. Keys are hashed with a
 * secret, as most are a target's choice: of keys that fall into one bucket each costs as much as there are.
 */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = (unsigned)hash_bytes_secret(keyptr, keylen))
#include <uthash.h>

#endif
