#ifndef JS_PEER_LIVES_H
#define JS_PEER_LIVES_H

#include <stddef.h>
#include <stdint.h>

/* Methods by their address in the JVM and by time. At one time one stands at an address. */
struct lives;

struct lives *lives_new(void);
void lives_free(struct lives *l);
size_t lives_bytes(const struct lives *l);
size_t lives_count(const struct lives *l); /* addresses */

/* A method is at an address from a time on; told again in a replay: stays. -ENOMEM. */
int lives_add(struct lives *l, uint64_t addr, uint32_t method, uint64_t from, uint32_t replay);
/* What this replay did not tell of any more ended at some time behind `sure`. */
void lives_end_others(struct lives *l, uint32_t replay, uint64_t sure);
uint32_t lives_find(const struct lives *l, uint64_t addr, uint64_t time); /* number; 0: none */

#endif
