#ifndef JS_NATIVE_DSO_DEBUG_FRAME_H
#define JS_NATIVE_DSO_DEBUG_FRAME_H

#include <elfutils/libdw.h>

struct debug_frame;
struct dso;

enum { DEBUG_FRAMES = 2 };

/* Call frame information in .debug_frame of the file itself (0) or its debug file (1), read on first use.
 * NULL: there is none. Borrowed from the DSO. */
Dwarf_CFI *dso_debug_frame(struct dso *d, unsigned i);

void debug_frame_free(struct debug_frame *f);

#endif
