#ifndef JS_ENGINE_CPU_LIST_H
#define JS_ENGINE_CPU_LIST_H

#include <sched.h>
#include <stddef.h>

/* The largest NR_CPUS of x86-64 kernels; a cpu_set_t holds only CPU_SETSIZE. */
enum { CPU_LIST_MAX = 8192, CPU_LIST_SETS = CPU_LIST_MAX / CPU_SETSIZE };

/* Parses "0-3,8", as in /sys/devices/system/cpu/online. The caller frees *ret. -EINVAL: malformed. */
int cpu_list_parse(const char *text, int **ret, size_t *ret_n);
int cpu_list_online(int **ret, size_t *ret_n);

#endif
