#ifndef JS_OUTPUT_FRAME_TEXT_H
#define JS_OUTPUT_FRAME_TEXT_H

#include <stdbool.h>

struct named_line;
struct named_profile;
struct buf;

/* One frame as text outputs show it (DESIGN section 3): name, :LINE, suffix; `;` -> `:`; control,
 * escape and bidirectional characters -> `?`. */
void frame_text_add(struct buf *b, const struct named_profile *np, const struct named_line *line, bool annotate,
		    bool lines);

/* The suffix alone: "_[j]", "" ... */
const char *frame_text_suffix(const struct named_line *line);

#endif
