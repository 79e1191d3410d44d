#ifndef JS_TARGET_MEM_LIVE_H
#define JS_TARGET_MEM_LIVE_H

#include <stdint.h>

struct mem;
struct proc;
struct err;

/*
 * Reads the memory of a running process; never writes. Reads of at most two pages go through a page cache that is valid
 * for one sample (mem_new_sample()); larger ones and batches bypass it. Pages are read with pread(2) from
 * /proc/PID/mem, batches with one process_vm_readv(2) for up to 1,024 spans, or with pread(2) if that is refused.
 * Access is checked only when the file is opened (ptrace access mode ATTACH, ptrace(2)); failure is -EACCES or -EPERM.
 * After the process has ended or called execve(2), every read fails, since the view belongs to one address space.
 */
int mem_live_open(struct proc *proc, struct mem **ret, struct err *err);

/*
 * Limits the cost of the reads of one sample, in system calls of 1 to 2 us each; larger reads count as several. Beyond
 * it, reads fail until mem_new_sample(), since a reader follows data structures of the target, which may have made them
 * long. 0, the default: no limit.
 */
enum {
	MEM_LIVE_COST_WALK = 1 << 17, /* a walk, including everything that it sees for the first time; opening a JVM */
	MEM_LIVE_COST_REALTIME = 1 << 12, /* a reader with real-time priority, which keeps other threads from a CPU */
};
void mem_live_limit(struct mem *m, uint64_t cost);

/*
 * For one thread that reads many processes in turn: from now on, this one and all others that were given `pool` have
 * one page cache, which holds pages of the one that was read last. Free it after them.
 */
struct mem_live_pool;
struct mem_live_pool *mem_live_pool_new(void); /* NULL: out of memory */
void mem_live_pool_free(struct mem_live_pool *pool);
void mem_live_share(struct mem *m, struct mem_live_pool *pool);

/* refused: reads beyond the limit; pages: read into the cache; faults: incomplete reads and spans. */
struct mem_live_stats {
	uint64_t syscalls, pages, bytes, faults, refused;
};
struct mem_live_stats mem_live_stats(const struct mem *m);

#endif
