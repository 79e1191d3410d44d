#ifndef JS_CLOSED_LANDLOCK_H
#define JS_CLOSED_LANDLOCK_H

/*
 * landlock(7): from here on this thread, and those that it starts, can open, create, rename, truncate or execute no
 * file, bind and connect no TCP socket, and, as far as the kernel supports it, reach no abstract socket, signal no
 * process and control no device outside. What is open stays usable. The one exception: below the directory that `dir`
 * is open for, regular files can be opened, created, truncated, renamed within their directory and removed, and
 * directories read; -1: none. The caller has set no_new_privs. Returns the kernel's version of the interface (1 since
 * Linux 5.13), or -errno: ENOSYS, EOPNOTSUPP: not supported.
 */
int landlock_close(int dir);

/* That version, without any effect. */
int landlock_version(void);

#endif
