#ifndef JS_TARGET_PATH_IN_ROOT_H
#define JS_TARGET_PATH_IN_ROOT_H

/*
 * Opens a path as a process with the root directory `rootfd` sees it: absolute symbolic links and ".." stay inside;
 * links of /proc that jump elsewhere are not followed. Returns an O_PATH descriptor (never of a symbolic link; the file
 * itself is not opened yet), or a negative errno.
 */
int path_in_root_open(int rootfd, const char *path);

/* The same without openat2(2), for kernels before 5.6. */
int path_in_root_walk(int rootfd, const char *path);

/* Opens a path that the kernel printed, from jsampler's own root, without following any symbolic link. */
int path_exact_open(const char *path);

#endif
