#ifndef JS_BASE_MAP_H
#define JS_BASE_MAP_H

#include <stdlib.h>

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

/*
 * The element of *wanted, a key without padding; if there is none, a new one, all of which but its member `key` is 0.
 * NULL: out of memory.
 */
#define map_entry(head, wanted)                                                                                        \
	__extension__({                                                                                                \
		__auto_type e_ = (head);                                                                               \
		HASH_FIND(hh, head, wanted, sizeof(*(wanted)), e_);                                                    \
		if (!e_ && (e_ = calloc(1, sizeof(*e_)))) {                                                            \
			e_->key = *(wanted);                                                                           \
			HASH_ADD(hh, head, key, sizeof(e_->key), e_);                                                  \
			if (!e_->hh.tbl) {                                                                             \
				free(e_);                                                                              \
				e_ = NULL;                                                                             \
			}                                                                                              \
		}                                                                                                      \
		e_;                                                                                                    \
	})

/* Frees all elements. */
#define map_free(head)                                                                                                 \
	do {                                                                                                           \
		__auto_type e_ = (head);                                                                               \
		HASH_CLEAR(hh, head);                                                                                  \
		while (e_) {                                                                                           \
			void *next_ = e_->hh.next;                                                                     \
			free(e_);                                                                                      \
			e_ = next_;                                                                                    \
		}                                                                                                      \
	} while (0)

#endif
