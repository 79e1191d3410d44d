#ifndef JS_PEER_METHOD_TIMES_H
#define JS_PEER_METHOD_TIMES_H

#include <stddef.h>
#include <stdint.h>

/* Methods by address in the JVM and by time. An address belongs to one method at a time. */
struct method_times;

struct method_times *method_times_new(void);
void method_times_free(struct method_times *l);
size_t method_times_bytes(const struct method_times *l);
size_t method_times_count(const struct method_times *l); /* addresses */

/* The method is at the address from time `from`; if it already is (repeated in a replay), nothing changes. -ENOMEM. */
int method_times_add(struct method_times *l, uint64_t addr, uint32_t method, uint64_t from, uint32_t replay);
/* Methods that this replay did not repeat ended some time after `sure`. */
void method_times_end_others(struct method_times *l, uint32_t replay, uint64_t sure);
uint32_t method_times_find(const struct method_times *l, uint64_t addr, uint64_t time); /* method number; 0: none */

#endif
