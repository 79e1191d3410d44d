#ifndef JS_HOTSPOT_METHOD_BUILD_H
#define JS_HOTSPOT_METHOD_BUILD_H

#include <stdint.h>

struct method_read;
struct method_table;

/*
 * The text of one of the method's symbols (NAME, ... of method_read.h), as UTF-8; NULL: there is none, or it is malformed. It is
 * in the table's `parts`, or another method's.
 */
const char *method_text(struct method_table *t, const struct method_read *m, int symbol);

/*
 * Makes a method of what was read, with a new id. unloads: the count of unloaded classes, from before the method was read.
 * 0: it is malformed, there is no room for it, or no memory.
 */
uint32_t method_add(struct method_table *t, const struct method_read *m, uint64_t unloads);

#endif
