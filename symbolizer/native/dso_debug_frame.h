#ifndef JS_NATIVE_DSO_DEBUG_FRAME_H
#define JS_NATIVE_DSO_DEBUG_FRAME_H

#include <elfutils/libdw.h>

struct debug_frame;
struct dso;

enum { DEBUG_FRAMES = 2 };

/*
 * The call frame information in .debug_frame of the file itself (0) or of its debug file (1), read on first use. NULL:
 * none. Borrowed from the DSO.
 */
Dwarf_CFI *dso_debug_frame(struct dso *d, unsigned i);

void debug_frame_free(struct debug_frame *f);

#endif
