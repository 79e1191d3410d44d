#ifndef JS_CLOSED_KEEPING_CALLS_H
#define JS_CLOSED_KEEPING_CALLS_H

#include <seccomp.h>

/*
 * Adds the system calls needed to keep the daemon's history and to answer requests to those of system_calls.c. 0 or
 * -errno.
 */
int keeping_calls_add(scmp_filter_ctx f);

#endif
