#ifndef JS_DIFF_DIFF_HTML_H
#define JS_DIFF_DIFF_HTML_H

#include <stddef.h>
#include <stdio.h>

struct err;
struct named_profile;

/*
 * The flame graph page of two sides (page/main_diff.js): one profile of all samples, whose label says in its
 * state "before" or "after", in its thread the side's files. profiles, paths: n_before, then
 * n_after. 0 or -ENOMEM; errors stick to the stream.
 */
int diff_html_write(const struct named_profile *const *profiles, const char *const *paths,
		    size_t n_before, size_t n_after, FILE *out, struct err *err);

#endif
