#ifndef JS_ENGINE_FREQUENCY_H
#define JS_ENGINE_FREQUENCY_H

#include <stdint.h>

/*
 * The period in ns for `hz` samples per second: 1 s / hz, or 0.11 % more if samples would otherwise be in step with the
 * kernel's tick, so that what starts or ends at a tick would be sampled either every time or never. This applies to
 * 1,000 Hz, for example, but not to 999 Hz. `hz` must not be 0.
 */
uint64_t frequency_period_ns(uint64_t hz);

#endif
