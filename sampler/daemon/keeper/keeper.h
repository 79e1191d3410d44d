#ifndef JS_KEEPER_KEEPER_H
#define JS_KEEPER_KEEPER_H

#include <stdint.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/http/daemon_state.h"
#include "sampler/store/store.h"

struct err;

/*
 * The process of the daemon that keeps the history and answers requests about it. It reaches no target. Samples come
 * from each worker as a stream of messages (feed.h), and go into the store.
 *
 * The broker forks it, opens everything before, and tells it more over the control socket: messages of a fixed size
 * (channel.h).
 */
enum keeper_what {
	/* From the broker. */
	KEEPER_FEED = 1, /* a worker was started: the descriptor, a SOCK_STREAM socket, is its feed */
	KEEPER_LIMITS, /* the configuration was read again: `limits`, `ring_bytes` */
	KEEPER_STOP, /* store what the feeds still have, and end */
	KEEPER_CAPTURE_REFUSED, /* or it has failed: `capture`, `code`, and `why` */
	KEEPER_STATE, /* `numbers` of the daemon; answered by KEEPER_ALIVE */
	/* To the broker. */
	KEEPER_READY, /* the store is open */
	KEEPER_ALIVE, /* it has come to KEEPER_STATE, and is not stuck */
	KEEPER_CAPTURE, /* a client requests `capture`; answered by KEEPER_FEED with its number, or by KEEPER_CAPTURE_REFUSED */
};

struct keeper_message {
	uint32_t what;
	struct store_options limits; /* KEEPER_LIMITS; otherwise 0, as is the next */
	uint64_t ring_bytes;
	uint64_t capture; /* its number; 0: none, a feed of the history */
	struct capture_request request; /* KEEPER_CAPTURE */
	int32_t code; /* -errno */
	char why[CAPTURE_WHY];
	struct daemon_numbers numbers; /* KEEPER_STATE */
};

struct keeper_options {
	int control; /* channel_pair(); when the other end is closed, the keeper ends as after KEEPER_STOP */
	/*
	 * Directory of the store, open with O_RDONLY. As root, the keeper takes on the ids of its owner, which should
	 * be a user that owns nothing else.
	 */
	int store;
	/*
	 * Listening sockets, non-blocking: AF_UNIX, whose mode says who may connect; TCP, for clients with the token.
	 * -1: none.
	 */
	int listener, tcp;
	const char *token; /* for `tcp`; borrowed */
	struct store_options limits;
	uint64_t ring_bytes; /* memory for the last hour */
	uint64_t flush_ns; /* how often stored data are made durable; 0: once per step */
};

/*
 * To be called in a child that has one thread, no descriptors but these and stdio, and nothing else to do. Takes over
 * the descriptors, closes the process (closed.h), and returns 0 after KEEPER_STOP, or -errno if it could not start, for
 * example because another daemon uses the store. Later errors of the store are logged, and it goes on.
 */
int keeper_run(const struct keeper_options *o, struct err *err);

#endif
