#ifndef JS_CLI_INPUTS_H
#define JS_CLI_INPUTS_H

#include <stddef.h>

struct err;
struct named_profile;

/* -EINVAL: "-", stdin, is there more than once. */
int inputs_check(const char *const *paths, size_t n, struct err *err);

/* One saved profile; lines that cannot be read are warned of. *ret is the caller's. */
int inputs_read(const char *path, struct named_profile **ret, struct err *err);

/* Several profiles as one, with their paths for messages. Those given stay the caller's. Where one
 * has counts only (folded text), the result has counts only. */
int inputs_merge(const struct named_profile *const *profiles, const char *const *paths, size_t n,
		 struct named_profile **ret, struct err *err);

/* Reads several as one. */
int inputs_read_merged(char *const *paths, size_t n, struct named_profile **ret, struct err *err);

#endif
