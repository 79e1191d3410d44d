#ifndef JS_BASE_CAPS_H
#define JS_BASE_CAPS_H

#include <stdint.h>

/* Capabilities of the calling thread, as bits: capabilities(7), capget(2) version 3. */
static inline uint64_t cap_bit(int cap)
{
	return UINT64_C(1) << cap;
}

uint64_t caps_permitted(void); /* 0, too, if they cannot be read */
/* Makes these the permitted and effective capabilities, and leaves none inheritable. 0 or -errno. */
int caps_set(uint64_t keep);
/*
 * Empties the bounding set, so that execve(2) cannot regain any. -EPERM: CAP_SETPCAP is missing; then only no_new_privs
 * prevents it. 0 or -errno.
 */
int caps_drop_bounding(void);

#endif
