#ifndef JS_STACKS_FRAME_BITS_H
#define JS_STACKS_FRAME_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

/* How a frame ran, packed for DICT_FRAMES. joined: inlined, in the same location as its caller. */
static inline uint32_t frame_bits(const struct named_line *l, bool joined)
{
	return l->kind | (uint32_t)l->tier << 8 | (uint32_t)l->exactness << 16 | (uint32_t)l->osr << 24 |
	       (uint32_t)joined << 25;
}

static inline struct named_line frame_bits_line(uint32_t bits)
{
	uint8_t kind = bits & 0xff;

	return (struct named_line){
		.kind = kind < NAMED_KINDS ? kind : NAMED_UNKNOWN,
		.tier = bits >> 8 & 7,
		.exactness = bits >> 16 & 3,
		.osr = bits >> 24 & 1,
		.bci = -1,
	};
}

static inline bool frame_bits_joined(uint32_t bits)
{
	return bits >> 25 & 1;
}

#endif
