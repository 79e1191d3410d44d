#ifndef JS_ENGINE_FREQUENCY_H
#define JS_ENGINE_FREQUENCY_H

#include <stdint.h>

/*
 * The period in ns for `hz` samples in each second: 1 s / hz, or 0.11 % more if samples would come in step with the kernel's tick, in which
 * case what runs at a tick, or ends at one, has a sample each time or never. 999 Hz need no such care, 1,000 Hz do. `hz` is not 0.
 */
uint64_t frequency_period_ns(uint64_t hz);

#endif
