#ifndef JS_CLOSED_SAMPLING_CALLS_H
#define JS_CLOSED_SAMPLING_CALLS_H

#include <seccomp.h>

/* Adds the system calls needed for sampling to those of system_calls.c. 0 or -errno. */
int sampling_calls_add(scmp_filter_ctx f);

#endif
