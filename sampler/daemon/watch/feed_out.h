#ifndef JS_WATCH_FEED_OUT_H
#define JS_WATCH_FEED_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/daemon/feed/feed.h"
#include "symbolizer/base/buf.h"

/*
 * The writing end of a feed. It never waits for the reader: what the socket does not take is kept, up to FEED_OUT_MAX
 * bytes; messages beyond that are dropped and counted. Zero-initialise; feed_out_done() frees.
 */
enum { FEED_OUT_MAX = 64 << 20 };

struct feed_out {
	int socket; /* borrowed */
	struct buf waiting;
	size_t sent; /* of `waiting` */
	uint64_t dropped; /* messages */
};

/* 0; -ENOBUFS: dropped; -EINVAL: the message is beyond a limit; -ENOMEM. */
int feed_out_add(struct feed_out *f, const struct feed_message *m);
/*
 * Adds an event that happens now, to a target or, with FEED_TARGETS_MAX, to the whole host. Returns as feed_out_add().
 */
int feed_out_event(struct feed_out *f, uint32_t target, enum feed_event event, const char *text);
/* If messages were dropped, adds an event that says so, and counts from 0 again. */
void feed_out_say_dropped(struct feed_out *f, uint32_t target);
/* 1: something still waits; 0: all is sent; -EPIPE: nobody reads any more. */
int feed_out_send(struct feed_out *f);
void feed_out_done(struct feed_out *f);

#endif
