#ifndef JS_ATTACH_CONFINE_CALLS_H
#define JS_ATTACH_CONFINE_CALLS_H

#include <sys/types.h>

/*
 * The attaching child's system call filter (confine.h); `target` is the only process that it can signal. The caller
 * has set no_new_privs. 0, or -errno: the kernel, or a filter around this process, does not accept it.
 */
int confine_calls(pid_t target);

#endif
