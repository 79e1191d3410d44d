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

/* How a process ends in which libdw finds no memory. */
enum { LINES_NO_MEMORY = 71 };

/* Is there DWARF in the file, or a separate debug file? */
bool lines_may_be_in(struct dso *d);
/* `map`: see dwarf_image.h; and strings of an answer last until the next question only. What is not opened for its size, or for want of time, is told to the dso's budget.
 * -ENOENT: there is none. */
int lines_open(struct dso *d, bool map, struct lines **ret);
void lines_close(struct lines *l);
/* As dso_find_lines(); strings are borrowed from `l`. */
size_t lines_find(struct lines *l, uint64_t vaddr, struct dso_line *ret, size_t max);
/* Did the last answer take what no real unit does? Then it is time to close it. */
bool lines_too_large(const struct lines *l);

#endif
