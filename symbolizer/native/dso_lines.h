#ifndef JS_NATIVE_DSO_LINES_H
#define JS_NATIVE_DSO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;
struct dso_line;

/*
 * The DWARF of one DSO, open for looking up source positions. On a hostile file, only resource limits of the process
 * restrain libdw (lines_child.h).
 */
struct lines;

/* The exit status of a process whose memory was not enough for libdw. */
enum { LINES_NO_MEMORY = 71 };

/* Is there DWARF in the file, or a separate debug file? */
bool lines_may_be_in(struct dso *d);
/*
 * With `map` (see dwarf_image.h), strings of a result are valid only until the next look-up. If the file is too large,
 * or takes too much time, the dso's budget gets a note. -ENOENT: there is no DWARF.
 */
int lines_open(struct dso *d, bool map, struct lines **ret);
void lines_close(struct lines *l);
/* Like dso_find_lines(); strings are borrowed from `l`. */
size_t lines_find(struct lines *l, uint64_t vaddr, struct dso_line *ret, size_t max);
/* Did the last look-up take more memory than any real unit does? If so, close `l`. */
bool lines_too_large(const struct lines *l);

#endif
