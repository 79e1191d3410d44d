#ifndef JS_CLI_FIND_TARGET_H
#define JS_CLI_FIND_TARGET_H

#include <sys/types.h>

struct err;

/* Finds the one running JVM whose main class or jar is `name`. -ENOENT: none; -EEXIST: several, err lists them. */
int find_target(const char *name, pid_t *ret, struct err *err);

#endif
