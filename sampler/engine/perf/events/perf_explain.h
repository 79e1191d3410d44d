#ifndef JS_ENGINE_PERF_EXPLAIN_H
#define JS_ENGINE_PERF_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct proc;
struct perf_config;

/* Each says in one line why the kernel refused, and what to do. Returns a negative errno: `r`, unless misleading. */
int perf_explain_open(int r, struct proc *proc, const struct perf_config *c, struct err *err);
int perf_explain_mmap(int r, size_t bytes, struct err *err);
int perf_explain_budget(size_t threads, size_t cpus, uint64_t limit, struct err *err);

#endif
