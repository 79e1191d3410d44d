#ifndef JS_NATIVE_DSO_DEBUG_FRAME_H
#define JS_NATIVE_DSO_DEBUG_FRAME_H

#include <elfutils/libdw.h>

struct debug_frame;
struct dso;

enum { DEBUG_FRAMES = 2 };

/* Call frame information of .debug_frame, of the file itself (0) and of its debug file (1), read when first asked for.
 * NULL: it has none. The DSO's. */
Dwarf_CFI *dso_debug_frame(struct dso *d, unsigned i);

void debug_frame_free(struct debug_frame *f);

#endif
