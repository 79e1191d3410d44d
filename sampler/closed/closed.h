#ifndef JS_CLOSED_CLOSED_H
#define JS_CLOSED_CLOSED_H

struct err;

/*
 * A process that parses what others have written, and can no longer do anything else.
 *
 * closed_begin() is called while there is only one thread, when everything is open and before the first byte of input
 * is parsed. From then on the process has no uid 0, no groups and no capabilities, and cannot get any: root takes on
 * the IDs of the user who called sudo, or IDs that no other process has. It dumps no core and cannot be traced by
 * others without CAP_SYS_PTRACE. It opens, creates and names no files, starts and reaches no processes, and has no
 * memory that is both written and executed (system_calls.h, landlock.h, caller.h). It reads and writes what was open
 * before, and asks the other end of `socket` for files (opener.h).
 */

/* What the kernel, or a container around the process, did not accept: 0, or -errno. */
struct closed_gaps {
	int filter; /* of system calls */
	int landlock;
	int ids; /* the process still has uid 0 */
};

/* What the process continues to do. */
enum closed_work {
	CLOSED_FILES, /* reads and writes files: one thread, no other process */
	CLOSED_SAMPLING, /* also samples: threads, their priority, perf events, a child that reads source lines */
	CLOSED_TRACING, /* stops threads of other processes and copies from them, and parses nothing: closed_begin_tracing() */
	CLOSED_KEEPING, /* keeps files in one directory and answers requests: closed_begin_keeping() */
};

/*
 * socket: with CLOSED_FILES, the only one that stays usable with sendmsg(2) and recvmsg(2) (-1: none); with
 * CLOSED_SAMPLING, all do. A gap is not a failure. -errno: no_new_privs or capabilities, which every kernel has, could
 * not be set.
 */
int closed_begin(enum closed_work work, int socket, struct closed_gaps *ret, struct err *err);

/*
 * The same for a process that stops threads (sampler/engine/suspend). It keeps CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.
 * Without CAP_SYS_PTRACE it keeps all capabilities and its IDs, because it can then trace only processes that have no
 * more (ids: -EPERM). It can open files for reading, stop, read, continue and release threads with ptrace(2), and use
 * `socket`. Root takes on IDs that no other process has, because a process with the same IDs could stop it while it has
 * stopped a thread. It does not use Landlock, because a process that Landlock confines may not trace others.
 */
int closed_begin_tracing(int socket, struct closed_gaps *ret, struct err *err);

/*
 * The same for the daemon's keeper. Below the directory `dir`, it can open, create, rename and remove regular files;
 * without Landlock, also elsewhere if its ids allow it. It can start threads, and accept connections on listening
 * sockets. It keeps its ids, but no capabilities.
 */
int closed_begin_keeping(int dir, struct closed_gaps *ret, struct err *err);

/*
 * Tries this in a child that does nothing else, to find out what would be missing here; work: any but CLOSED_KEEPING.
 * look: called for that child once it is closed, with a descriptor of its /proc/PID/status, because hidepid=2 then
 * hides its name (-1: none); may be NULL. 0, or -errno: the child could not be closed or started.
 */
int closed_try(enum closed_work work, struct closed_gaps *ret, void (*look)(void *ctx, int status), void *ctx,
	       struct err *err);

/* Reports the gaps to the user: a missing filter as a warning, the others with -v (log.h). */
void closed_say_gaps(const struct closed_gaps *gaps);

#endif
