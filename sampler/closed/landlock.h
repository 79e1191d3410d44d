#ifndef JS_CLOSED_LANDLOCK_H
#define JS_CLOSED_LANDLOCK_H

/*
 * landlock(7): from here on this thread, and those that it starts, cannot open, create, rename, truncate or execute
 * files, nor bind or connect TCP sockets and, as far as the kernel supports it, not reach abstract sockets, signal
 * processes or control devices outside. What is open stays usable. There is one exception: below the directory `dir`
 * (-1: none), regular files can be opened, created, truncated, renamed within their directory and removed, and
 * directories can be read. The caller has set no_new_privs. Returns the kernel's version of the interface (1 since
 * Linux 5.13), or -errno: ENOSYS, EOPNOTSUPP: not supported.
 */
int landlock_close(int dir);

/* That version, without any effect. */
int landlock_version(void);

#endif
