#ifndef JS_NATIVE_KALLSYMS_H
#define JS_NATIVE_KALLSYMS_H

#include <stdint.h>

struct err;

/*
 * Kernel symbols, from /proc/kallsyms. They are read when an address is looked up, and only as far as necessary: there
 * are 100,000 to 300,000 lines, and the kernel prints 2 to 3 per microsecond. The kernel's own symbols come first, by
 * address, functions before data; those of modules follow in no particular order.
 */
struct kallsyms;

/*
 * Takes over `fd`, an open /proc/kallsyms. Whether the kernel shows addresses depends on the privileges at open(2), so
 * they may be dropped before it is read. NULL: out of memory.
 */
struct kallsyms *kallsyms_open(int fd);
/* Reads on until the symbol of `addr` is known; UINT64_MAX: all. -EACCES: all addresses are zero (kptr_restrict). */
int kallsyms_load(struct kallsyms *k, uint64_t addr, struct err *err);
void kallsyms_close(struct kallsyms *k);
/* NULL: none, or the symbols cannot be read, for which there is one warning. Valid until the next call. */
const char *kallsyms_find(struct kallsyms *k, uint64_t addr);

#endif
