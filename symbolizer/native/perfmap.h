#ifndef JS_NATIVE_PERFMAP_H
#define JS_NATIVE_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct proc;
struct err;

/*
 * /tmp/perf-PID.map of other runtimes (node, .NET, ...), in the target's root, PID as the target
 * sees itself. Untrusted: must belong to the target's user, regular, at most 64 MiB; malformed
 * lines are skipped and counted.
 */
struct perfmap;

int perfmap_open(struct proc *proc, struct perfmap **ret, struct err *err); /* -ENOENT: none */
int perfmap_parse(const char *text, size_t len, struct perfmap **ret);
void perfmap_close(struct perfmap *p);
const char *perfmap_find(const struct perfmap *p, uint64_t addr); /* NULL: none; borrowed */

#endif
