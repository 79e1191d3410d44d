#ifndef JS_NATIVE_LINES_CHILD_H
#define JS_NATIVE_LINES_CHILD_H

#include <stddef.h>
#include <stdint.h>

struct budget;
struct dso;
struct dso_line;

/*
 * A child process that reads DWARF. Even a small file can make libdw use any amount of memory and time within one call.
 * The budget limits both for the child, which is killed when it exceeds them. The file that it was then reading is left
 * without lines, which is noted in the budget, and a new child continues with the others.
 * The child is started when lines are first looked up. Not thread-safe: the child ends with the thread that started it.
 */
struct lines_child;

struct lines_child *lines_child_new(struct budget *b); /* `b` is borrowed. NULL: out of memory */
void lines_child_free(struct lines_child *c); /* ends the child */

/* Like dso_find_lines(). */
size_t lines_child_ask(struct lines_child *c, struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max);

#endif
