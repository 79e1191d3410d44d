#ifndef JS_STORE_DAY_ADD_H
#define JS_STORE_DAY_ADD_H

#include <stdbool.h>
#include <stdint.h>

struct day;
struct err;
struct named_profile;
struct store_target;

/*
 * Adds all samples of a profile to the bucket that starts at `at` (seconds), in the open transaction. *ret_left_out: as
 * day_names_end() returns it.
 */
int day_add_profile(struct day *d, const struct store_target *t, int64_t at, const struct named_profile *np,
		    bool *ret_left_out, struct err *err);
/* t NULL: none. */
int day_add_happening(struct day *d, const struct store_target *t, uint64_t at_ns, const char *kind, const char *text,
		      struct err *err);

#endif
