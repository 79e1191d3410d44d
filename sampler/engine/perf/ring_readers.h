#ifndef JS_ENGINE_RING_READERS_H
#define JS_ENGINE_RING_READERS_H

#include <stddef.h>

/*
 * One thread for each ring, bound to the ring's CPU, in the real-time class where that is permitted. A sample wakes the
 * thread of its CPU, which runs in place of the sampled thread until it has read the rest of that one's stack.
 */
struct ring_readers;

/* From the thread of that ring, whenever there may be something in it. */
typedef void ring_reader_fn(void *ctx, size_t ring);

/* `fds[i]` is readable when ring i, that of CPU cpus[i], has something. Both are copied. 0 or -errno. */
int ring_readers_start(const int *cpus, const int *fds, size_t n, ring_reader_fn *fn, void *ctx,
		       struct ring_readers **ret);
void ring_readers_stop(struct ring_readers *p); /* joins the threads; NULL is accepted */

#endif
