#ifndef JS_BASE_USER_NAME_H
#define JS_BASE_USER_NAME_H

#include <stdbool.h>
#include <sys/types.h>

/* Writes the name of a user of this host, sanitised. false: there is no such user, and the number was written. */
bool user_name(uid_t uid, char *dst, size_t size);

#endif
