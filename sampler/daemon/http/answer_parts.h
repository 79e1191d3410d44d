#ifndef JS_HTTP_ANSWER_PARTS_H
#define JS_HTTP_ANSWER_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sampler/model/named_profile.h"

struct answer;
struct answer_context;
struct err;
struct json;
struct query;
struct regex;
struct store_cell;
struct store_target;
struct store_query;
struct store_view;
struct writer;

/* Regular expressions are untrusted: this limits the time for one answer. answer_matches(): 1, 0, or -ETIME. */
struct answer_matching {
	struct regex *re;
	uint64_t work;
};
int answer_matches(struct answer_matching *m, const char *text, struct err *err);
/* Members samples and weight. */
void answer_put_cells(struct json *j, const struct store_cell *cells, size_t n);

#define ANSWER_JSON "application/json"

/* The history as selected by the query. */
int answer_view(const struct answer_context *c, const struct query *q, struct store_view **ret, struct err *err);
int answer_open(const struct answer_context *c, const struct store_query *q, struct store_view **ret, struct err *err);
/* Closes `out`, a memory stream to a->body and a->len, and sets the rest of *a. 0 or -ENOMEM. */
int answer_fill(struct answer *a, const char *type, FILE *out, struct err *err);
/* The profile in that format. */
int answer_write(const struct named_profile *np, const struct writer *w, struct answer *a, struct err *err);
/* Members of an object: target, pid, labels. */
void answer_put_target(struct json *j, const struct store_target *t);
/* From the last hour in memory: with an exact range, and threads selected by name. */
int answer_recent_heatmap(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err);
int answer_recent_read(const struct answer_context *c, const struct query *q, struct named_profile **ret,
		       struct err *err);
const char *answer_kind(enum named_kind k); /* NULL: not the kind of a leaf */

#endif
