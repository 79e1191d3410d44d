#ifndef JS_VIEWS_VIEW_HEAD_H
#define JS_VIEWS_VIEW_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sampler/model/named_profile.h"
#include "sampler/views/table.h"

/*
 * Prints a view's heading: how much was sampled, and of what. In JSON it opens the object that view_foot() closes;
 * CSV has no heading.
 */
void view_head(const struct named_profile *np, const char *view, enum table_format format, struct json *json);
void view_foot(enum table_format format, struct json *json);

/* Prints "and N more with X %" below a text with limited rows; nothing if n is 0 or in other formats. */
void view_more(FILE *out, enum table_format format, uint64_t n, double percent);

/* A weight in the unit shown in columns: seconds for times, otherwise unchanged. */
double view_amount(const struct named_meta *m, uint64_t weight);

struct view_sum {
	uint64_t samples, weight;
};
struct view_sum view_sum(const struct named_profile *np);

#endif
