#ifndef JS_STORE_COMPACTION_H
#define JS_STORE_COMPACTION_H

#include <stdint.h>

struct day_id;
struct err;

/*
 * Rewrites the nodes of a finished day, so that each is there once, and next to others of the same service. In the order
 * in which they were added, they are among those of all programs; and a writer, which forgets nodes, adds many again.
 * Thereafter, a page of one program reads little else, and the file is smaller, by up to two thirds.
 *
 * Work is done in small pieces, by the thread that also writes the store, and never while it has this file open. Each
 * transaction leaves a file that is complete. If it ends early, the next one does the targets that are left.
 */
struct compaction;

/* *ret NULL: there is nothing to do: the file is compact, empty, or steps of it wait for being added up. -errno. */
int compaction_begin(const char *dir, struct day_id id, struct compaction **ret, struct err *err);
/*
 * Works for about that much CPU time: a piece takes some milliseconds. 1: there is more to do, 0: the file is compact
 * now; -errno: the file stays as it is, and may be read: it is damaged, say, or has stacks that are too deep for the memory
 * that this may take.
 */
int compaction_work(struct compaction *c, uint64_t cpu_ns, struct err *err);
/* At any time; NULL is allowed. */
void compaction_end(struct compaction *c);

#endif
