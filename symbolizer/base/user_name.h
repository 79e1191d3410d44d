#ifndef JS_BASE_USER_NAME_H
#define JS_BASE_USER_NAME_H

#include <stdbool.h>
#include <sys/types.h>

/* Writes the name of a user of this host, fit for a terminal. false: there is no such user, it is the number. */
bool user_name(uid_t uid, char *dst, size_t size);

#endif
