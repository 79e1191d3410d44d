#ifndef JS_PEER_PEER_H
#define JS_PEER_PEER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct timeline;

/*
 * The sampler's end of one connection of the bridge: reads records into a timeline. The other end may be hostile; any
 * malformed input ends the connection.
 */
struct peer;

/* Takes ownership of fd, even on failure, and makes it non-blocking. */
int peer_new(int fd, struct timeline *t, struct peer **ret, struct err *err);
void peer_free(struct peer *p);
int peer_fd(const struct peer *p);

/*
 * Reads what is available, up to a limit, without waiting. 1: there may be more; 0: nothing more now; -EPIPE: the
 * other end is gone (after BYE, or cut off); -EPROTO: not a bridge; -ENOTSUP: a bridge of another version.
 */
int peer_read(struct peer *p, struct err *err);

int peer_ask_sync(struct peer *p, uint64_t cookie); /* 0 or -errno */
uint64_t peer_synced(const struct peer *p); /* the last cookie that was returned; 0: none */
bool peer_is_replayed(const struct peer *p); /* the present state is complete */

#endif
