#ifndef JS_NATIVE_KALLSYMS_H
#define JS_NATIVE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Kernel symbols, from /proc/kallsyms (or a text in tests). Addresses all zero: -EACCES (kptr_restrict). */
struct kallsyms;

int kallsyms_open(struct kallsyms **ret, struct err *err);
/* The same from an open /proc/kallsyms (not closed): whether addresses are shown was decided by the
 * privileges at open(2), so that one may be parsed after they were dropped. */
int kallsyms_read(int fd, struct kallsyms **ret, struct err *err);
int kallsyms_parse(const char *text, uint64_t len, struct kallsyms **ret);
void kallsyms_close(struct kallsyms *k);
const char *kallsyms_find(const struct kallsyms *k, uint64_t addr); /* NULL: none; borrowed */

#endif
