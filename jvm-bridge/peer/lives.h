#ifndef JS_PEER_LIVES_H
#define JS_PEER_LIVES_H

#include <stddef.h>
#include <stdint.h>

/* Methods by address in the JVM and by time. An address belongs to one method at a time. */
struct lives;

struct lives *lives_new(void);
void lives_free(struct lives *l);
size_t lives_bytes(const struct lives *l);
size_t lives_count(const struct lives *l); /* addresses */

/* The method is at the address from time `from`; if it already is (repeated in a replay), nothing changes. -ENOMEM. */
int lives_add(struct lives *l, uint64_t addr, uint32_t method, uint64_t from, uint32_t replay);
/* Methods that this replay did not repeat ended some time after `sure`. */
void lives_end_others(struct lives *l, uint32_t replay, uint64_t sure);
uint32_t lives_find(const struct lives *l, uint64_t addr, uint64_t time); /* method number; 0: none */

#endif
