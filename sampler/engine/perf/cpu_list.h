#ifndef JS_ENGINE_CPU_LIST_H
#define JS_ENGINE_CPU_LIST_H

#include <stddef.h>

enum { CPU_LIST_MAX = 8192 }; /* NR_CPUS of x86-64 kernels is at most that */

/* "0-3,8" as in /sys/devices/system/cpu/online. *ret is the caller's. -EINVAL: not such a list. */
int cpu_list_parse(const char *text, int **ret, size_t *ret_n);
int cpu_list_online(int **ret, size_t *ret_n);

#endif
