#ifndef JS_RING_RING_H
#define JS_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/store_series.h"

struct err;

/*
 * The samples of the last hour with their times, in bounded memory. Samples of all targets are kept in segments, each
 * with its own dictionary. The oldest segment is dropped as a whole, so if the memory does not suffice, less than an
 * hour is kept. Any thread may call any function, and no thread waits while another one calls the functions of its
 * ring_query. A segment that is being read is kept meanwhile, even beyond the limit.
 */
struct ring;

enum { RING_SEGMENTS = 8 }; /* approximately: each has this share of the time, or of the memory */
#define RING_NS UINT64_C(3600000000000)

struct ring *ring_new(uint64_t max_bytes, uint64_t now_ns); /* now_ns: CLOCK_REALTIME; NULL: out of memory */
void ring_free(struct ring *r);
void ring_limit(struct ring *r, uint64_t max_bytes); /* from the next ring_add() on */

/*
 * Adds the samples of a profile with time slices, the first of which begins at base_ns (CLOCK_REALTIME). Samples
 * without a slice get the time of the profile's end. mono_ns: CLOCK_MONOTONIC, for their age. -ENOMEM: they were not
 * added.
 */
int ring_add(struct ring *r, const struct store_target *t, const struct named_profile *np, uint64_t base_ns,
	     uint64_t now_ns, uint64_t mono_ns);

struct ring_state {
	size_t bytes;
	uint64_t since_ns; /* all samples since then are here, except those of the last seconds */
};
struct ring_state ring_state(struct ring *r);

struct ring_query {
	const struct store_query *q; /* the range is exact: a sample belongs to it if its slice begins there */
	/*
	 * Select threads and functions by name; NULL: all. Return 1, 0, or -errno, which ends the reading. Called once
	 * for each name in a segment, without a lock.
	 */
	int (*wants_thread)(void *ctx, const char *name, struct err *err);
	int (*wants_function)(void *ctx, const char *name, struct err *err);
	void *ctx;
	bool self; /* the function must be the leaf */
};

/* Adds the samples of the range to cells[0..n), which are cell_ns wide from q->from_ns on. */
int ring_heat(struct ring *r, const struct ring_query *rq, uint64_t cell_ns, struct store_cell *cells, size_t n,
	      struct err *err);
/* Samples of the range, with whole thread names, in a profile that the caller frees. -ENODATA: there are none, or the range begins before ring_state.since_ns. */
int ring_read(struct ring *r, const struct ring_query *rq, struct named_profile **ret, struct err *err);

#endif
