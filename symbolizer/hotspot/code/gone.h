#ifndef JS_HOTSPOT_GONE_H
#define JS_HOTSPOT_GONE_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * Code that is no longer there. Where hs_code_find() finds nothing at a pc, or code that it first saw later than
 * the sample, fn is asked (walks with hotspot_walk_times() only): the id of the code that was there at the
 * sample's time and is gone, as hs_gone_add() made it; 0: none. `there`: something is there now. Without fn, such
 * code is nobody's when classes were unloaded since the sample and it was read 0.1 s later or more.
 */
typedef uint32_t hs_gone_fn(void *ctx, uint64_t pc, uint64_t time_ns, bool there);
void hs_set_gone(struct hotspot *hs, hs_gone_fn *fn, void *ctx);
uint32_t hs_gone_add(struct hotspot *hs, uint64_t begin, uint32_t size, int32_t frame_size, int tier);
/* Frame size and tier of the nmethod whose code begins there now; false: none does. */
bool hs_code_shape(struct hotspot *hs, uint64_t begin, int32_t *ret_frame_size, int32_t *ret_tier);

#endif
