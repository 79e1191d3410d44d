#ifndef JS_HOTSPOT_CSTRS_H
#define JS_HOTSPOT_CSTRS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct mem;

enum { CSTR_MAX = 256 };

/*
 * Reads `n` C strings of fewer than CSTR_MAX bytes, page by page in a few batches: the names in the JVM's tables are
 * thousands of short strings on some hundred pages. The strings are allocated in `a`; ret[i] is NULL if there is no
 * such string. 0 or -ENOMEM.
 */
int cstrs_read(struct mem *m, const uint64_t *addrs, size_t n, struct arena *a, const char **ret);

#endif
