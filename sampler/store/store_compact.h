#ifndef JS_STORE_STORE_COMPACT_H
#define JS_STORE_STORE_COMPACT_H

#include <stdint.h>

struct day_id;
struct err;

/*
 * Rewrites the nodes of a finished day, so that each is there once, and next to others of the same service. In the order
 * in which they were added, they are among those of all programs; and a writer, which forgets nodes, adds many again.
 * Thereafter, a page of one program reads little else, and the file is about half as large.
 *
 * Work is done in small pieces, by the thread that also writes the store, and never while it has this file open. Each
 * transaction leaves a file that is complete; after a crash, it is started over.
 */
struct compaction;

/* *ret NULL: there is nothing to do: the file is compact, empty, or steps of it wait for being added up. -errno. */
int compaction_begin(const char *dir, struct day_id id, struct compaction **ret, struct err *err);
/* Works for about that much CPU time. 1: there is more to do, 0: the file is compact now; -errno. */
int compaction_work(struct compaction *c, uint64_t cpu_ns, struct err *err);
/* At any time; NULL is allowed. */
void compaction_end(struct compaction *c);

#endif
