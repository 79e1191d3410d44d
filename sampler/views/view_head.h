#ifndef JS_VIEWS_VIEW_HEAD_H
#define JS_VIEWS_VIEW_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sampler/model/named_profile.h"
#include "sampler/views/table.h"

/* What stands in front of a view: how much was sampled, of what. In JSON it opens the object that
 * view_foot() closes; CSV has none. */
void view_head(const struct named_profile *np, const char *view, enum table_format format, struct json *json);
void view_foot(enum table_format format, struct json *json);

/* "...and N more (X %)" below a text whose rows were limited; nothing for n 0 and other formats. */
void view_more(FILE *out, enum table_format format, uint64_t n, double percent);

/* Are weights times? */
bool view_is_time(const struct named_meta *m);
/* A weight in the unit that columns have: seconds, else as it is. */
double view_amount(const struct named_meta *m, uint64_t weight);

struct view_sum {
	uint64_t samples, weight;
};
struct view_sum view_sum(const struct named_profile *np);

#endif
