#ifndef JS_CLOSED_SYSTEM_CALLS_H
#define JS_CLOSED_SYSTEM_CALLS_H

#include "sampler/closed/closed.h"

/*
 * The system call filter of a process that parses what others have written, as a list of what is allowed (seccomp(2),
 * by libseccomp): memory without execution, descriptors that are open, clocks. Nothing that opens, creates or names a
 * file, reaches another process, starts a process or thread, makes a socket, or changes identity or namespace.
 *
 * A call that is not on the list ends the process with SIGSYS, after one line on stderr with the call's number and
 * its first two arguments. Calls that libc tries by itself and can do without fail with an error instead: opening for
 * reading.
 *
 * CLOSED_SAMPLING adds (sampling_calls.c): threads, their priority and CPUs, a child process without execve(2),
 * killing it, switching open perf events on and off, and messages on open sockets.
 *
 * CLOSED_KEEPING adds (keeping_calls.c): what SQLite does with files, which Landlock confines to one directory; threads,
 * and connections on sockets that are open. No other process.
 *
 * CLOSED_TRACING adds (tracing_calls.c): opening files for reading, another process's memory for reading, and some requests
 * of ptrace(2). No other process or thread is started, or signalled.
 *
 * socket: the only descriptor for sendmsg(2) and recvmsg(2); -1: none. Applies to all threads of the process and
 * cannot be undone; the caller has set no_new_privs. 0, or -errno: the kernel, or a filter around this process, does
 * not accept it.
 */
int system_calls_filter(enum closed_work work, int socket);

#endif
