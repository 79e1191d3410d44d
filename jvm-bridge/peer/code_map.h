#ifndef JS_PEER_CODE_MAP_H
#define JS_PEER_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm-bridge/peer/timeline.h"

/*
 * Compiled code by address and time. At one time no two overlap: one that comes ends those that it
 * covers. By pages, so that a look at an address meets few; what has ended stands in lists of its own.
 */
struct code_map;

struct code_map *code_map_new(void);
void code_map_free(struct code_map *m);
size_t code_map_bytes(const struct code_map *m); /* memory held: 8 MB of code take 2,048 pages */

/* `c` is borrowed, its interval is the map's to end. -E2BIG: too long for code; -ENOMEM. */
int code_map_add(struct code_map *m, struct timeline_code *c);
void code_map_end(struct code_map *m, struct timeline_code *c, uint64_t time);
/* Ends all that overlap [begin, begin + size). */
void code_map_end_range(struct code_map *m, uint64_t begin, uint32_t size, uint64_t time);
struct timeline_code *code_map_live(const struct code_map *m, uint64_t addr); /* now; NULL: none */
struct timeline_code *code_map_find(const struct code_map *m, uint64_t addr, uint64_t time);

#endif
