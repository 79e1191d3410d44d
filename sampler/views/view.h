#ifndef JS_VIEWS_VIEW_H
#define JS_VIEWS_VIEW_H

#include <stdint.h>
#include <stdio.h>

#include "sampler/views/table.h"

struct err;
struct named_profile;

/* Text views of a profile (`jsampler report`), each as text, JSON or CSV. */
struct view_options {
	enum table_format format;
	size_t width; /* width of the terminal written to; 0: not a terminal */
	uint64_t rows; /* maximum; 0: all */
	double least; /* in trees, branches below this percentage of all samples are left out */
	const char *method; /* callers, callees, lines: name_pattern.h */
};

/* 0, -ENOENT (no such method; err says so), -ENOMEM. The caller checks `out` for errors (ferror()). */
typedef int view_fn(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);

int view_flat(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_tree(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_callers(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_callees(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_lines(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_tiers(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_threads(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);
int view_timeline(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err);

#endif
