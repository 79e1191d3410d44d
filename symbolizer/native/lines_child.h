#ifndef JS_NATIVE_LINES_CHILD_H
#define JS_NATIVE_LINES_CHILD_H

#include <stddef.h>
#include <stdint.h>

struct budget;
struct dso;
struct dso_line;

/*
 * A child process that reads DWARF. A small file can make libdw take any amount of memory and time inside one
 * call; the child has limits of both, out of the budget, and is ended when they are used up. Then the file that it
 * was busy with has no lines, which the budget is told, and another child goes on with the others.
 * Started when lines are first asked for. Not thread-safe; whoever asks must outlive it (the child ends with the
 * thread that started it).
 */
struct lines_child;

struct lines_child *lines_child_new(struct budget *b); /* `b` is borrowed. NULL: out of memory */
void lines_child_free(struct lines_child *c); /* ends the child */

/* As dso_find_lines(). */
size_t lines_child_ask(struct lines_child *c, struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max);

#endif
