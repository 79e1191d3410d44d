#ifndef JS_BASE_MAP_H
#define JS_BASE_MAP_H

/*
 * Hash maps: uthash, set up once for the whole tree. When memory runs out an insertion leaves the
 * map as it was (the element's hh.tbl is NULL then) instead of ending the program.
 */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
