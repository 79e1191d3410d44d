#ifndef JS_CLOSED_KEEPING_CALLS_H
#define JS_CLOSED_KEEPING_CALLS_H

#include <seccomp.h>

/* What keeping the daemon's history and answering requests takes, on top of system_calls.c. 0 or -errno. */
int keeping_calls_add(scmp_filter_ctx f);

#endif
