#ifndef JS_HOST_CREDIT_H
#define JS_HOST_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

/* CPU time for what others bring about: a burst, and then one part in CREDIT_SHARE of the time that passes. Zero-initialise: all of the burst is there. */
#define CREDIT_NS UINT64_C(200000000)
enum { CREDIT_SHARE = 100 };

struct credit {
	uint64_t spent_ns; /* of the burst */
	uint64_t at_ns; /* as of then */
};

/* Is there anything left? now_ns: never less than the last time. */
static inline bool credit_left(struct credit *c, uint64_t now_ns)
{
	uint64_t more = (now_ns - c->at_ns) / CREDIT_SHARE;

	c->spent_ns -= more < c->spent_ns ? more : c->spent_ns;
	c->at_ns = now_ns;
	return c->spent_ns < CREDIT_NS;
}

/* More than there was is still to be made up for. */
static inline void credit_spend(struct credit *c, uint64_t ns)
{
	c->spent_ns += ns;
}

#endif
