#ifndef JS_HTTP_ANSWER_PARTS_H
#define JS_HTTP_ANSWER_PARTS_H

#include <stdio.h>

#include "sampler/model/named_profile.h"

struct answer;
struct answer_context;
struct err;
struct json;
struct query;
struct store_target;
struct store_view;
struct writer;

#define ANSWER_JSON "application/json"

/* What answers are made of. */
int answer_view(const struct answer_context *c, const struct query *q, struct store_view **ret, struct err *err);
/* Closes `out`, a memory stream to a->body and a->len, and sets the rest of *a. 0 or -ENOMEM. */
int answer_fill(struct answer *a, const char *type, FILE *out, struct err *err);
/* The profile in that format. */
int answer_write(const struct named_profile *np, const struct writer *w, struct answer *a, struct err *err);
/* Members of an object: target, pid, labels. */
void answer_put_target(struct json *j, const struct store_target *t);
const char *answer_kind(enum named_kind k); /* NULL: not one of a leaf */

#endif
