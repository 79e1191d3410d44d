#ifndef JS_NATIVE_PERFMAP_H
#define JS_NATIVE_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct budget;
struct proc;
struct err;

/*
 * Reads /tmp/perf-PID.map of other runtimes (node, .NET, ...), in the target's root, with the PID in the target's own
 * namespace. It is untrusted: it must belong to the target's user and be a regular file of at most 64 MiB; malformed
 * lines are skipped and counted.
 */
struct perfmap;

/*
 * -ENOENT: there is none; -EFBIG: larger than 64 MiB, or than `b` allows (borrowed, NULL: no limit); -ETIME: nobody
 * waits for it any more.
 */
int perfmap_open(struct proc *proc, struct budget *b, struct perfmap **ret, struct err *err);
int perfmap_parse(const char *text, size_t len, struct perfmap **ret);
void perfmap_close(struct perfmap *p);
const char *perfmap_find(const struct perfmap *p, uint64_t addr); /* NULL: none; borrowed */

#endif
