/* Compares two ranges, or two sets of programs, versions, ... */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/daemon/http/answer.h"
#include "sampler/daemon/http/answer_parts.h"
#include "sampler/daemon/http/query.h"
#include "sampler/diff/diff.h"
#include "sampler/diff/diff_html.h"
#include "sampler/diff/diff_print.h"
#include "sampler/profile/named_builder.h"
#include "sampler/store/store.h"
#include "symbolizer/base/err.h"

enum { NAME_MAX_BYTES = 200 };

#define SECOND UINT64_C(1000000000)

struct sides {
	struct named_profile *profiles[DIFF_SIDES];
	char names[DIFF_SIDES][NAME_MAX_BYTES];
};

static const struct named_profile *const *borrow(const struct sides *s)
{
	return (const struct named_profile *const *)s->profiles;
}

/* As seconds since 1970, like the arguments. */
static void name_side(const struct store_query *q, char *dst)
{
	int n = snprintf(dst, NAME_MAX_BYTES, "from %" PRIu64 " to %" PRIu64, q->from_ns / SECOND,
			 (q->to_ns + SECOND - 1) / SECOND);

	if (q->pid && n > 0 && n < NAME_MAX_BYTES)
		n += snprintf(dst + n, (size_t)(NAME_MAX_BYTES - n), " pid=%d", (int)q->pid);
	for (size_t i = 0; i < q->n_labels && n > 0 && n < NAME_MAX_BYTES; i++)
		n += snprintf(dst + n, (size_t)(NAME_MAX_BYTES - n), " %s=%s", q->labels[i].key, q->labels[i].value);
}

static int read_side(const struct answer_context *c, const struct query *q, enum diff_side side, struct sides *s,
		     struct err *err)
{
	struct store_view *v = NULL;
	struct store_query sq;
	int r;

	if (side == DIFF_BEFORE)
		query_of_store_against(q, &sq);
	else
		query_of_store(q, &sq);
	name_side(&sq, s->names[side]);
	r = answer_open(c, &sq, &v, err);
	if (r == 0)
		r = store_view_read(v, &s->profiles[side], err);
	store_view_close(v);
	return r < 0 ? err_wrap(err, r, "%s", s->names[side]) : 0;
}

static int write_diff(const struct sides *s, const struct query *q, struct answer *a, struct err *err)
{
	const char *const names[] = {s->names[DIFF_BEFORE], s->names[DIFF_AFTER]};
	const struct diff_print_options po = {.format = TABLE_JSON, .paths = names};
	bool html = q->format && strcmp(q->format, "html") == 0;
	struct diff d = {0};
	FILE *out = NULL;
	int r = html ? 0 : diff_build(borrow(s), 1, 1, &(struct diff_options){.min_effect = -1}, &d, err);

	if (r == 0 && !(out = open_memstream(&a->body, &a->len)))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0 && html)
		r = diff_html_write(borrow(s), names, 1, 1, out, err);
	else if (r == 0)
		diff_print(&d, &po, out);
	diff_done(&d);
	if (out && answer_fill(a, html ? "text/html; charset=utf-8" : ANSWER_JSON, out, err) < 0)
		r = -ENOMEM;
	return r;
}

int answer_diff(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	struct sides s = {0};
	int r = 0;

	if (q->format && strcmp(q->format, "json") != 0 && strcmp(q->format, "html") != 0)
		r = err_set(err, -EINVAL, "format=%.40s: json or html", q->format);
	for (int side = 0; r == 0 && side < DIFF_SIDES; side++)
		r = read_side(c, q, side, &s, err);
	if (r == 0)
		r = write_diff(&s, q, a, err);
	for (int side = 0; side < DIFF_SIDES; side++)
		named_profile_free(s.profiles[side]);
	return r;
}
