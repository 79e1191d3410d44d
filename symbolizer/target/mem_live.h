#ifndef JS_TARGET_MEM_LIVE_H
#define JS_TARGET_MEM_LIVE_H

#include <stdint.h>

struct mem;
struct proc;
struct err;

/*
 * The memory of a running process, never written to. Reads of at most two pages go through a page
 * cache that is valid for one sample (mem_new_sample()); larger ones and batches bypass it. Pages are
 * read with pread(2) from the /proc/PID/mem opened here, batches with one process_vm_readv(2) for
 * up to 1,024 spans, or pread(2) where that is refused.
 * Access is checked when opened (ptrace access mode ATTACH, ptrace(2)): -EACCES/-EPERM says so.
 * After the process ended, or called execve(2), every read fails: the view is of one address space.
 */
int mem_live_open(struct proc *proc, struct mem **ret, struct err *err);

/* pages: read into the cache; faults: reads and spans that were not whole. */
struct mem_live_stats {
	uint64_t syscalls, pages, bytes, faults;
};
struct mem_live_stats mem_live_stats(const struct mem *m);

#endif
