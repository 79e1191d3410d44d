#ifndef JS_PROFILE_NAMED_FILTER_H
#define JS_PROFILE_NAMED_FILTER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct named_profile;

/*
 * Keeps part of a named profile. Expressions are POSIX extended regular expressions, and match anywhere in the text.
 * A frame's text is its name without line and suffix, so that one expression means the same with and without them;
 * synthetic roots ([name tid=N]) and marks count as frames.
 */
struct named_filter {
	const char *const *include; /* keep only stacks with a frame that matches one of these; 0: all */
	size_t n_include;
	const char *const *exclude; /* then drop stacks with a frame that matches one of these */
	size_t n_exclude;
	const char *include_threads; /* keep only samples of threads whose name matches; NULL: all */
	uint32_t leaf_kinds; /* keep only stacks with a leaf of these kinds: 1 << enum named_kind; 0: all */
};

struct named_filter_result {
	uint64_t kept, dropped; /* samples */
};

/*
 * *ret: a new profile, which the caller frees (named_profile_free()). Meta data is copied, so its counts are still
 * those of the whole recording. -EINVAL: a malformed expression, err says which and why. `result` may be NULL.
 */
int named_filter_apply(const struct named_profile *np, const struct named_filter *f, struct named_profile **ret,
		       struct named_filter_result *result, struct err *err);

#endif
