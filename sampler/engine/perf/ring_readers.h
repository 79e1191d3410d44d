#ifndef JS_ENGINE_RING_READERS_H
#define JS_ENGINE_RING_READERS_H

#include <stddef.h>

/*
 * One thread per ring, bound to the ring's CPU, in the real-time class where permitted. A sample wakes the thread of
 * its CPU, which runs in place of the sampled thread until it has read the rest of that thread's stack.
 */
struct ring_readers;

/* Called by the ring's thread whenever the ring may hold something. */
typedef void ring_reader_fn(void *ctx, size_t ring);

/* `fds[i]` is readable when ring i, of CPU cpus[i], holds something. Both arrays are copied. 0 or -errno. */
int ring_readers_start(const int *cpus, const int *fds, size_t n, ring_reader_fn *fn, void *ctx,
		       struct ring_readers **ret);
void ring_readers_stop(struct ring_readers *p); /* joins the threads; NULL is accepted */

#endif
