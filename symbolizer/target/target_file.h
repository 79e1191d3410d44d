#ifndef JS_TARGET_TARGET_FILE_H
#define JS_TARGET_TARGET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct proc;
struct mapping;
struct err;

/*
 * Files of a target, which may be hostile. Opened through /proc/PID/map_files (the mapped inode, even when deleted or
 * replaced), otherwise with openat2(2) below /proc/PID/root with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS (before 5.6:
 * component by component with O_NOFOLLOW), otherwise by the unchanged path (a chroot in jsampler's mount namespace).
 * Opened non-blocking, read-only, close-on-exec; must be a regular file of at most 2 GiB.
 */

/*
 * The file behind a mapping; its device and inode must be those of the mapping (with overlayfs the device may differ,
 * and map_files is trusted). The caller closes *ret. -ESTALE: the file on disk is another one.
 */
int target_file_open_mapping(struct proc *p, const struct mapping *map, int *ret, struct err *err);

/* A path in the target's root, e.g. a separate debug file or perf-PID.map. */
int target_file_open(struct proc *p, const char *path, int *ret, struct err *err);

/*
 * A file of this host rather than of a target: a debug file by its build-id, a setting below /proc/sys. A descriptor or
 * -errno.
 */
int target_file_open_on_host(const char *path);

/*
 * If a file is on a file system that may not answer (FUSE, NFS), a deputy checks the file and passes a copy in memory,
 * with these seals. The functions above then return -ETIMEDOUT if the file system did not answer in time, and -ENOBUFS
 * if the file is too large for a copy.
 */
#define TARGET_FILE_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
bool target_file_is_copy(int fd);
/* Why such a file was not opened, for a message; NULL: for another reason. */
const char *target_file_why_far(int code);

#endif
