#ifndef JS_CLOSED_LANDLOCK_H
#define JS_CLOSED_LANDLOCK_H

/*
 * landlock(7): from here on this thread, and those that it starts, can open, make, rename, truncate or
 * execute no file, bind and connect no TCP socket, and, as far as the kernel has it, reach no abstract socket, signal
 * no process and control no device outside. What is open stays usable. The one exception: regular files below the directory that
 * `dir` is open for can be opened, made, truncated, renamed in their directory and removed, and directories read; -1: none. The
 * caller has set no_new_privs.
 * Returns the kernel's version of the interface (from 1, Linux 5.13, on), or -errno: ENOSYS, EOPNOTSUPP: it has none.
 */
int landlock_close(int dir);

/* That version, without any effect. */
int landlock_version(void);

#endif
