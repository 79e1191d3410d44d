#ifndef JS_TARGET_PATH_IN_ROOT_H
#define JS_TARGET_PATH_IN_ROOT_H

/*
 * Paths as a process sees them whose root directory is `rootfd`: absolute symbolic links and ".."
 * stay inside; links of /proc that jump elsewhere are not followed. The result is an O_PATH
 * descriptor of what is there (never a link; it is not opened yet), or a negative errno.
 */
int path_in_root_open(int rootfd, const char *path);

/* The same without openat2(2), for kernels before 5.6. */
int path_in_root_walk(int rootfd, const char *path);

/* From jsampler's own root, without following any symbolic link, since the kernel printed the path. */
int path_exact_open(const char *path);

#endif
