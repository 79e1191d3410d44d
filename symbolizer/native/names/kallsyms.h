#ifndef JS_NATIVE_KALLSYMS_H
#define JS_NATIVE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Kernel symbols, from /proc/kallsyms. -EACCES: all addresses are zero (kptr_restrict). */
struct kallsyms;

/* From an open /proc/kallsyms, which is not closed. The privileges at open(2) decide whether addresses are shown, so they
 * may be dropped before this call. */
int kallsyms_read(int fd, struct kallsyms **ret, struct err *err);
void kallsyms_close(struct kallsyms *k);
const char *kallsyms_find(const struct kallsyms *k, uint64_t addr); /* NULL: none; borrowed */

#endif
