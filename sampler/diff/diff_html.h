#ifndef JS_DIFF_DIFF_HTML_H
#define JS_DIFF_DIFF_HTML_H

#include <stddef.h>
#include <stdio.h>

struct err;
struct named_profile;

/*
 * Writes the flame graph page of two sides (page/main_diff.js): a profile of all samples, whose
 * labels have "before" or "after" as state, and the files of the side as thread. profiles, paths:
 * n_before, then n_after. 0 or -ENOMEM; errors stick to the stream.
 */
int diff_html_write(const struct named_profile *const *profiles, const char *const *paths, size_t n_before,
		    size_t n_after, FILE *out, struct err *err);

#endif
