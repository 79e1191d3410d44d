#ifndef JS_CLI_FILTERS_H
#define JS_CLI_FILTERS_H

#include <stdint.h>

struct err;
struct named_profile;
struct record_options;

/*
 * Applies --include, --exclude, --include-threads (in *o) and --kind (leaf_kinds as in named_filter.h, 0: all) to a
 * profile and replaces it by the result. Warns about expressions that match nothing, and about filters that leave
 * nothing.
 */
int filters_apply(const struct record_options *o, uint32_t leaf_kinds, struct named_profile **np, struct err *err);

int filters_apply_quietly(const struct record_options *o, uint32_t leaf_kinds, struct named_profile **np,
			  struct err *err);

/* "interpreted,C1": a set of 1 << enum named_kind. -EINVAL: the message lists the kinds. */
int filters_parse_kinds(const char *text, uint32_t *ret, struct err *err);

#endif
