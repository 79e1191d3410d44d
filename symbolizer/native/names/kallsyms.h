#ifndef JS_NATIVE_KALLSYMS_H
#define JS_NATIVE_KALLSYMS_H

#include <stdint.h>

struct err;

/*
 * Kernel symbols, from /proc/kallsyms. They are read when the first address is looked up: for that the kernel prints
 * 100,000 lines and more, which takes some 50 ms of CPU time.
 */
struct kallsyms;

/*
 * Takes over `fd`, an open /proc/kallsyms. Whether the kernel shows addresses depends on the privileges at open(2), so
 * they may be dropped before it is read. NULL: out of memory.
 */
struct kallsyms *kallsyms_open(int fd);
/* Reads now, if that was not done yet. -EACCES: all addresses are zero (kptr_restrict). */
int kallsyms_load(struct kallsyms *k, struct err *err);
void kallsyms_close(struct kallsyms *k);
/* NULL: none, or the symbols cannot be read, for which there is one warning. Borrowed. */
const char *kallsyms_find(struct kallsyms *k, uint64_t addr);

#endif
