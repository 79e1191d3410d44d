#ifndef JS_CLOSED_TRACING_CALLS_H
#define JS_CLOSED_TRACING_CALLS_H

#include <seccomp.h>

/* What a process that stops threads adds to the list of system calls (system_calls.h). 0 or -errno. */
int tracing_calls_add(scmp_filter_ctx f);

#endif
