#ifndef JS_HOTSPOT_GONE_H
#define JS_HOTSPOT_GONE_H

#include <stdbool.h>
#include <stdint.h>

struct hotspot;

/*
 * Code that is no longer in the code cache. If hs_code_find() finds nothing at a pc, or code that it first saw after
 * the sample, it calls fn (only in walks with hotspot_walk_times()). fn returns the id, from hs_gone_add(), of the code
 * that was there when the sample was taken; 0: none. `there`: there is code now. Without fn, code that was first read
 * more than 0.1 s after the sample counts as unknown if classes were unloaded since the sample.
 */
typedef uint32_t hs_gone_fn(void *ctx, uint64_t pc, uint64_t time_ns, bool there);
void hs_set_gone(struct hotspot *hs, hs_gone_fn *fn, void *ctx);
uint32_t hs_gone_add(struct hotspot *hs, uint64_t begin, uint32_t size, int32_t frame_size, int tier);
/* Frame size and tier of the nmethod whose code now begins at that address; false: there is none. */
bool hs_code_shape(struct hotspot *hs, uint64_t begin, int32_t *ret_frame_size, int32_t *ret_tier);

#endif
