#ifndef JS_BRIDGE_CHANNEL_H
#define JS_BRIDGE_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm-bridge/stream/ring.h"
#include "jvm-bridge/stream/wire.h"

/* The socket to the sampler. Only the stream's thread uses it; no call blocks for long. */
struct channel {
	int fd; /* -1: none */
	uint32_t sent; /* bytes of the oldest record that were sent */
	bool broken; /* the peer is gone, or sent an invalid request */
	unsigned char ask[WIRE_ASK_SIZE];
	uint32_t asked; /* bytes of the next request that were received */
};

struct request {
	enum wire_ask type;
	uint64_t cookie;
};

int channel_connect(const char *path, int *ret_fd); /* returns enum wire_attach */
void channel_open(struct channel *c, int fd);
void channel_close(struct channel *c);
/* Sends as many records as the socket accepts. */
void channel_flush(struct channel *c, struct ring *r);
/*
 * Waits until the socket is writable (if `writing`), a request arrives, `wake` is written, the peer is gone, or `ms`
 * have passed.
 */
void channel_wait(struct channel *c, int wake, bool writing, int ms);
/* 1: a request; 0: none. An invalid one sets `broken`. */
int channel_request(struct channel *c, struct request *ret);

#endif
