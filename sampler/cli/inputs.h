#ifndef JS_CLI_INPUTS_H
#define JS_CLI_INPUTS_H

#include <stddef.h>

struct err;
struct named_profile;
struct opener;

/* -EINVAL: "-" (stdin) is given more than once. */
int inputs_check(const char *const *paths, size_t n, struct err *err);

/* Reads one saved profile, opened by `o`, and warns about unreadable lines. The caller frees *ret. */
int inputs_read(struct opener *o, const char *path, struct named_profile **ret, struct err *err);

/*
 * Adds up profiles, which remain the caller's; paths are for messages. If one has only counts (folded text), the
 * result has only counts.
 */
int inputs_merge(const struct named_profile *const *profiles, const char *const *paths, size_t n,
		 struct named_profile **ret, struct err *err);

/* Reads several files and adds them up. */
int inputs_read_merged(struct opener *o, char *const *paths, size_t n, struct named_profile **ret, struct err *err);

#endif
