#ifndef JS_BASE_FUSE_USER_H
#define JS_BASE_FUSE_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Whoever mounts a FUSE file system decides which owners, links and modes it shows (fuse(4)). true: `fd` is on one that
 * an ordinary user mounted; *ret is that user, or (uid_t)-2 if it cannot be determined.
 */
bool fuse_user(int fd, uid_t *ret);

/* The same from the text of /proc/self/mountinfo (proc(5)), for the mount with that id. */
bool fuse_user_of(const char *mountinfo, uint64_t mount_id, uid_t *ret);

#endif
