#ifndef JS_PEER_CODE_MAP_H
#define JS_PEER_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm-bridge/peer/timeline.h"

/*
 * Compiled code by address and time. At any one time no two overlap: adding one ends those it overlaps. Indexed by
 * page, so that a lookup visits few; ended code is kept in separate lists.
 */
struct code_map;

struct code_map *code_map_new(void);
void code_map_free(struct code_map *m);
size_t code_map_bytes(const struct code_map *m); /* memory used: 8 MB of code take 2,048 pages */

/* Borrows `c`; the map sets the end of its interval. -E2BIG: too long for code, or too much in one page; -ENOMEM. */
int code_map_add(struct code_map *m, struct timeline_code *c);
void code_map_end(struct code_map *m, struct timeline_code *c, uint64_t time);
/* Ends all code that overlaps [begin, begin + size). */
void code_map_end_range(struct code_map *m, uint64_t begin, uint32_t size, uint64_t time);
struct timeline_code *code_map_live(const struct code_map *m, uint64_t addr); /* the present one; NULL: none */
struct timeline_code *code_map_find(const struct code_map *m, uint64_t addr, uint64_t time);

#endif
