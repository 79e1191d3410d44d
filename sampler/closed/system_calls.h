#ifndef JS_CLOSED_SYSTEM_CALLS_H
#define JS_CLOSED_SYSTEM_CALLS_H

#include "sampler/closed/closed.h"

/*
 * The system call filter of a process that parses what others have written, as a list of what is allowed (seccomp(2), by
 * libseccomp): memory without execution, descriptors that are open, clocks. Nothing that opens, makes or names a file,
 * nothing that reaches another process, starts one or a thread, no socket, no identity, no other namespace.
 *
 * What is not on the list ends the process with SIGSYS, after one line on stderr that has the call's number and its first two
 * arguments. What libc tries by itself and can do without is answered with an error instead: opening for reading.
 *
 * CLOSED_SAMPLING adds (sampling_calls.c): threads, their priority and CPUs, a child process without an execve(2), the end of
 * one, switching perf events that are open on and off, and messages on open sockets.
 *
 * socket: the only descriptor for sendmsg(2) and recvmsg(2); -1: none.
 * Of all threads of the process, for good; the caller has set no_new_privs. 0, or -errno: the kernel, or a filter around this
 * process, does not take it.
 */
int system_calls_filter(enum closed_work work, int socket);

#endif
