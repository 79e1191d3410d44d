#include "symbolizer/native/dso_debug_frame.h"

#include <stdlib.h>

#include "symbolizer/native/dso_priv.h"
#include "symbolizer/native/dwarf_image.h"

/*
 * Call frame information that is not loaded: with -fno-asynchronous-unwind-tables (DWARF 5, section 6.4.1), compilers
 * write it into the file or its debug file.
 */
struct debug_frame {
	struct dwarf_image image;
	Dwarf *dwarf; /* owns cfi */
	Dwarf_CFI *cfi;
};

void debug_frame_free(struct debug_frame *f)
{
	if (!f)
		return;
	if (f->dwarf)
		dwarf_end(f->dwarf);
	dwarf_image_close(&f->image);
	free(f);
}

static struct debug_frame *frame_open(struct image *im)
{
	struct debug_frame *f = im ? calloc(1, sizeof(*f)) : NULL;
	uint64_t bytes;

	if (!f)
		return NULL;
	if (dwarf_image_open(im, im->budget, DWARF_FRAMES, false, &f->image, &bytes) == 0)
		f->dwarf = dwarf_begin_elf(f->image.elf, DWARF_C_READ, NULL);
	f->cfi = f->dwarf ? dwarf_getcfi(f->dwarf) : NULL;
	if (f->cfi)
		return f;
	debug_frame_free(f);
	return NULL;
}

Dwarf_CFI *dso_debug_frame(struct dso *d, unsigned i)
{
	if (d->recorded || i >= DEBUG_FRAMES)
		return NULL;
	if (!d->frames_tried[i]) {
		d->frames_tried[i] = true;
		d->frames[i] = frame_open(i ? dso_debug_image(d) : &d->main);
	}
	return d->frames[i] ? d->frames[i]->cfi : NULL;
}
