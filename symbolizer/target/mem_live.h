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

/*
 * What the reads of one sample may cost, in system calls of 1 to 2 us each; larger ones count as several. Beyond it
 * they fail until mem_new_sample(): the data structures that a reader follows are the target's, who may have made
 * them long. 0, as at first: no limit.
 */
enum {
	MEM_LIVE_COST_WALK = 1 << 17, /* a walk, with all that is met for the first time; opening a JVM */
	MEM_LIVE_COST_REALTIME = 1 << 12, /* a reader with realtime priority, which keeps others from a CPU */
};
void mem_live_limit(struct mem *m, uint64_t cost);

/* refused: reads for want of cost left. pages: read into the cache; faults: reads and spans that were not whole. */
struct mem_live_stats {
	uint64_t syscalls, pages, bytes, faults, refused;
};
struct mem_live_stats mem_live_stats(const struct mem *m);

#endif
