#ifndef JS_NATIVE_DSO_LINES_H
#define JS_NATIVE_DSO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;
struct dso_line;

/* DWARF of one DSO, open for source positions. What libdw does with a hostile file is limited by its process
 * only (lines_child.h). */
struct lines;

/* Exit status of a process in which libdw ran out of memory. */
enum { LINES_NO_MEMORY = 71 };

/* Is there DWARF in the file, or a separate debug file? */
bool lines_may_be_in(struct dso *d);
/*
 * With `map` (see dwarf_image.h), strings of an answer last only until the next question. What is too large to be opened, or
 * takes too much time, is noted in the dso's budget. -ENOENT: there is no DWARF.
 */
int lines_open(struct dso *d, bool map, struct lines **ret);
void lines_close(struct lines *l);
/* As dso_find_lines(); strings are borrowed from `l`. */
size_t lines_find(struct lines *l, uint64_t vaddr, struct dso_line *ret, size_t max);
/* Whether the last answer took more memory than any real unit does: close `l` then. */
bool lines_too_large(const struct lines *l);

#endif
