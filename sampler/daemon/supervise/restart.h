#ifndef JS_SUPERVISE_RESTART_H
#define JS_SUPERVISE_RESTART_H

#include <stdint.h>

/*
 * When a process of the daemon that has ended is restarted: after 0.1 s, and each further time after twice as long, up
 * to 30 s; after 0.1 s again if it ran for a minute. Zero-initialise. Times: CLOCK_MONOTONIC.
 */
struct restart {
	uint64_t began_ns, delay_ns;
};

#define RESTART_FIRST_NS UINT64_C(100000000)
#define RESTART_MAX_NS UINT64_C(30000000000)
#define RESTART_GOOD_NS UINT64_C(60000000000)

static inline void restart_began(struct restart *r, uint64_t now_ns)
{
	r->began_ns = now_ns;
}

/* It has ended: returns how long to wait. */
static inline uint64_t restart_delay(struct restart *r, uint64_t now_ns)
{
	uint64_t twice = r->delay_ns * 2 < RESTART_MAX_NS ? r->delay_ns * 2 : RESTART_MAX_NS;

	r->delay_ns = !r->delay_ns || now_ns - r->began_ns >= RESTART_GOOD_NS ? RESTART_FIRST_NS : twice;
	return r->delay_ns;
}

#endif
