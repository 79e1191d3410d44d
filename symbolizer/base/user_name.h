#ifndef JS_BASE_USER_NAME_H
#define JS_BASE_USER_NAME_H

#include <stdbool.h>
#include <sys/types.h>

/* Writes the name of a user of this host, sanitised. false: there is no such user, and the number was written. */
bool user_name(uid_t uid, char *dst, size_t size);
/* The ids of a user, or of a group, of this host by its name. false: there is none. */
bool user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid);
bool group_find(const char *name, gid_t *ret);

#endif
