#ifndef JS_BASE_FUSE_USER_H
#define JS_BASE_FUSE_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Whoever mounts a FUSE file system tells the kernel what it wants of it: owners, links, modes (fuse(4)). True, and his
 * id in *ret, where `fd` lies on one of an ordinary user's; (uid_t)-2 where it cannot be learnt whose.
 */
bool fuse_user(int fd, uid_t *ret);

/* The same from the text of /proc/self/mountinfo (proc(5)), for the mount with that id. */
bool fuse_user_of(const char *mountinfo, uint64_t mount_id, uid_t *ret);

#endif
