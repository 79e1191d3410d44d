#ifndef JS_OUTPUT_SHARE_H
#define JS_OUTPUT_SHARE_H

#include <math.h>
#include <stdint.h>

/* Shares of a profile, in percent. */
static inline double share_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Half of the 95 % interval (binomial), in percentage points. */
static inline double share_error(uint64_t part, uint64_t whole)
{
	double p = whole ? (double)part / (double)whole : 0;

	return whole ? 196 * sqrt(p * (1 - p) / (double)whole) : 0;
}

#endif
