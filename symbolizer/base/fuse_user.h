#ifndef JS_BASE_FUSE_USER_H
#define JS_BASE_FUSE_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Whoever mounts a FUSE file system tells the kernel what owners, links and modes it has, true or not (fuse(4)). True
 * where `fd` is on one that an ordinary user mounted; *ret is that user, or (uid_t)-2 where it cannot be learnt who.
 */
bool fuse_user(int fd, uid_t *ret);

/* The same from the text of /proc/self/mountinfo (proc(5)), for the mount with that id. */
bool fuse_user_of(const char *mountinfo, uint64_t mount_id, uid_t *ret);

#endif
