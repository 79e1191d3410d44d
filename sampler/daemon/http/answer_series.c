/* Samples over time: of one method, by tier, by program or by label. */
#include <errno.h>

#include "sampler/daemon/http/answer.h"
#include "sampler/daemon/http/answer_parts.h"
#include "sampler/daemon/http/query.h"
#include "sampler/store/store.h"
#include "sampler/store/store_series.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"
#include "symbolizer/patterns/regex.h"

/* Rows; all further ones are added up in one. */
enum { ROWS_MAX = 100 };

/* Steps of matching in one answer: about two seconds. */
#define WORK_MAX UINT64_C(300000000)

int answer_matches(struct answer_matching *m, const char *text, struct err *err)
{
	if (m->work > WORK_MAX)
		return err_set(err, -ETIME,
			       "this regular expression takes too long: choose a simpler one or a shorter range");
	return regex_matches(m->re, text, &m->work);
}

static int is_wanted(void *ctx, const char *function, struct err *err)
{
	return answer_matches(ctx, function, err);
}

void answer_put_cells(struct json *j, const struct store_cell *cells, size_t n)
{
	json_member_open(j, "samples", '[');
	for (size_t i = 0; i < n; i++)
		json_uint(j, cells[i].samples);
	json_close(j, ']');
	json_member_open(j, "weight", '[');
	for (size_t i = 0; i < n; i++)
		json_uint(j, cells[i].weight);
	json_close(j, ']');
}

static void put_row(struct json *j, const struct store_series *s, const struct store_series_row *row,
		    enum store_split split)
{
	const char *kind = answer_kind(row->kind);

	json_open(j, '{');
	if (split == STORE_BY_TARGET)
		answer_put_target(j, &row->target);
	else
		json_member_text(j, "name", split == STORE_BY_KIND ? (kind ? kind : "other") : row->name);
	answer_put_cells(j, row->cells, s->n_cells);
	json_close(j, '}');
}

static void put_rest(struct json *j, const struct store_series *s)
{
	json_open(j, '{');
	json_member_bool(j, "others", true);
	answer_put_cells(j, s->rest, s->n_cells);
	json_close(j, '}');
}

static int write_series(const struct store_series *s, enum store_split split, struct answer *a, struct err *err)
{
	struct json j = {.out = open_memstream(&a->body, &a->len)};

	if (!j.out)
		return err_set(err, -ENOMEM, "out of memory");
	json_open(&j, '{');
	json_member_open(&j, "series", '[');
	for (size_t i = 0; i < s->n_rows; i++)
		put_row(&j, s, &s->rows[i], split);
	if (s->rest)
		put_rest(&j, s);
	json_close(&j, ']');
	json_member_bool(&j, "truncated", s->rest != NULL);
	json_member_uint(&j, "from", s->from_s);
	json_member_uint(&j, "step", s->step_s);
	answer_put_cells(&j, s->all, s->n_cells);
	json_close(&j, '}');
	fputc('\n', j.out);
	return answer_fill(a, ANSWER_JSON, j.out, err);
}

static int read_series(const struct answer_context *c, const struct query *q, enum store_split split,
		       struct answer_matching *m, struct answer *a, struct err *err)
{
	const struct store_series_query sq = {
		.step_s = q->step_s,
		.split = split,
		.key = q->split_key,
		.wants = m->re ? is_wanted : NULL,
		.ctx = m,
		.self = q->self,
		.max = ROWS_MAX,
	};
	struct store_series *s = NULL;
	struct store_view *v = NULL;
	int r = answer_view(c, q, &v, err);

	if (r == 0)
		r = store_view_series(v, &sq, &s, err);
	if (r == 0)
		r = write_series(s, split, a, err);
	store_series_free(s);
	store_view_close(v);
	return r;
}

static int answer_split(const struct answer_context *c, const struct query *q, enum store_split split, struct answer *a,
			struct err *err)
{
	struct answer_matching m = {0};
	int r = q->method ? regex_new(q->method, &m.re, err) : 0;

	if (r == 0)
		r = read_series(c, q, split, &m, a, err);
	regex_free(m.re);
	return r;
}

int answer_series(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	return answer_split(c, q, q->split, a, err);
}

int answer_heatmap(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	return q->cell_ns ? answer_recent_heatmap(c, q, a, err) : answer_split(c, q, STORE_BY_TARGET, a, err);
}
