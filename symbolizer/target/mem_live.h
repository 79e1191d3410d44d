#ifndef JS_TARGET_MEM_LIVE_H
#define JS_TARGET_MEM_LIVE_H

#include <stdint.h>

struct mem;
struct proc;
struct err;

/*
 * The memory of a running process, never written to. Small reads go through a page cache that is
 * valid for one sample (mem_new_sample()); batches bypass it: one process_vm_readv(2) for up to
 * 1,024 spans, or pread(2) of the /proc/PID/mem opened here where that is refused.
 * Access is checked when opened (ptrace access mode ATTACH, ptrace(2)): -EACCES/-EPERM says so.
 */
int mem_live_open(struct proc *proc, struct mem **ret, struct err *err);

struct mem_live_stats {
	uint64_t syscalls, pages, bytes, faults;
};
struct mem_live_stats mem_live_stats(const struct mem *m);

#endif
