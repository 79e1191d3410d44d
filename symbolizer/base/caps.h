#ifndef JS_BASE_CAPS_H
#define JS_BASE_CAPS_H

#include <stdint.h>

/* Capabilities of the calling thread, as bits: capabilities(7), capget(2) version 3. */
static inline uint64_t cap_bit(int cap)
{
	return UINT64_C(1) << cap;
}

uint64_t caps_permitted(void); /* 0, too, if they cannot be read */
/* Makes these the permitted and effective ones, and no other inheritable. 0 or -errno. */
int caps_set(uint64_t keep);
/* So that execve(2) gives none back. -EPERM: without CAP_SETPCAP; no_new_privs then holds alone. 0 or -errno. */
int caps_drop_bounding(void);

#endif
