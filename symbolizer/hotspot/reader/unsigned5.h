#ifndef JS_HOTSPOT_UNSIGNED5_H
#define JS_HOTSPOT_UNSIGNED5_H

#include <stdint.h>

#include "symbolizer/base/cursor.h"

/*
 * HotSpot's variable-length numbers (src/hotspot/share/utilities/unsigned5.hpp): up to five bytes, each worth six bits,
 * are added up. From JDK 20 on, zero bytes are excluded (X = 1).
 */
static inline uint32_t unsigned5_bias(int major)
{
	return major >= 20 ? 1 : 0;
}

static inline uint32_t unsigned5_read(struct cursor *c, uint32_t x)
{
	uint32_t sum = 0;

	for (int i = 0; i < 5; i++) {
		uint32_t b = cursor_u8(c);

		if (b < x) {
			c->bad = true;
			return 0;
		}
		sum += (b - x) << (6 * i);
		if (b < 192)
			break;
	}
	return sum;
}

static inline int32_t unsigned5_read_signed(struct cursor *c, uint32_t x)
{
	uint32_t v = unsigned5_read(c, x);

	return (int32_t)((v >> 1) ^ (0u - (v & 1)));
}

#endif
