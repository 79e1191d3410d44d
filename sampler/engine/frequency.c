#include "sampler/engine/frequency.h"

#include <stdbool.h>
#include <stddef.h>

#define SECOND_NS UINT64_C(1000000000)
#define PLACES_MIN 11 /* between two ticks at which samples fall; 99 Hz have 33 at least */
#define SHIFT 907 /* the period is longer by this part: a prime for which no frequency comes into another step */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* With any tick that kernels are built with: a container cannot know which it has. */
static bool is_in_step(uint64_t hz)
{
	static const uint64_t ticks[] = {100, 250, 300, 1000};

	for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++)
		if (hz / common_divisor(hz, ticks[i]) < PLACES_MIN)
			return true;
	return false;
}

uint64_t frequency_period_ns(uint64_t hz)
{
	uint64_t ns = SECOND_NS / hz;

	return is_in_step(hz) ? ns + ns / SHIFT : ns;
}
