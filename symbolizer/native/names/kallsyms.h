#ifndef JS_NATIVE_KALLSYMS_H
#define JS_NATIVE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Kernel symbols, from /proc/kallsyms. -EACCES: all addresses are zero (kptr_restrict). */
struct kallsyms;

/*
 * From an open /proc/kallsyms, which is not closed. Whether the kernel shows addresses depends on the privileges at
 * open(2), so they may be dropped before this call.
 */
int kallsyms_read(int fd, struct kallsyms **ret, struct err *err);
void kallsyms_close(struct kallsyms *k);
const char *kallsyms_find(const struct kallsyms *k, uint64_t addr); /* NULL: none; borrowed */

#endif
