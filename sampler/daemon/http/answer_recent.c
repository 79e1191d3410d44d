/* Answers that only the last hour in memory has: samples by 20 ms, exact ranges, single threads. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sampler/daemon/http/answer.h"
#include "sampler/daemon/http/answer_parts.h"
#include "sampler/daemon/http/query.h"
#include "sampler/daemon/ring/ring.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"
#include "symbolizer/patterns/regex.h"

enum { CELLS_MAX = 200000 }; /* a little more than an hour */

struct recent {
	struct store_query chosen;
	struct ring_query rq;
	struct answer_matching thread, method;
};

static int wants_thread(void *ctx, const char *name, struct err *err)
{
	struct recent *r = ctx;

	return answer_matches(&r->thread, name, err);
}

static int wants_function(void *ctx, const char *name, struct err *err)
{
	struct recent *r = ctx;

	return answer_matches(&r->method, name, err);
}

static void recent_done(struct recent *r)
{
	regex_free(r->thread.re);
	regex_free(r->method.re);
}

static int recent_begin(struct recent *r, const struct query *q, struct err *err)
{
	int e = q->thread ? regex_new(q->thread, &r->thread.re, err) : 0;

	if (e == 0 && q->method)
		e = regex_new(q->method, &r->method.re, err);
	query_of_store(q, &r->chosen);
	r->rq = (struct ring_query){
		.q = &r->chosen,
		.wants_thread = r->thread.re ? wants_thread : NULL,
		.wants_function = r->method.re ? wants_function : NULL,
		.ctx = r,
		.self = q->self,
	};
	return e;
}

/* --- the heat map --- */

static void put_moment(struct json *j, const char *key, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, ns / 1000000000, ns / 1000000 % 1000);
	json_key(j, key);
	json_raw(j, text);
}

static int write_heat(const struct query *q, uint64_t since_ns, const struct store_cell *cells, size_t n,
		      struct answer *a, struct err *err)
{
	struct json j = {.out = open_memstream(&a->body, &a->len)};

	if (!j.out)
		return err_set(err, -ENOMEM, "out of memory");
	json_open(&j, '{');
	put_moment(&j, "from", q->from_ns);
	json_member_uint(&j, "step_ms", q->cell_ns / 1000000);
	put_moment(&j, "since", since_ns);
	answer_put_cells(&j, cells, n);
	json_close(&j, '}');
	fputc('\n', j.out);
	return answer_fill(a, ANSWER_JSON, j.out, err);
}

int answer_recent_heatmap(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	CLEANUP(recent_done) struct recent r = {0};
	CLEANUP(free_at_exit) struct store_cell *cells = NULL;
	uint64_t n = (q->to_ns - q->from_ns + q->cell_ns - 1) / q->cell_ns;
	int e;

	if (n > CELLS_MAX)
		return err_set(err, -EINVAL, "more than %d cells: choose a shorter range or a larger step", CELLS_MAX);
	cells = calloc(n, sizeof(*cells));
	e = cells ? recent_begin(&r, q, err) : err_set(err, -ENOMEM, "out of memory");
	if (e == 0)
		e = ring_heat(c->ring, &r.rq, q->cell_ns, cells, n, err);
	return e < 0 ? e : write_heat(q, ring_state(c->ring).since_ns, cells, n, a, err);
}

/* --- a profile --- */

int answer_recent_read(const struct answer_context *c, const struct query *q, struct named_profile **ret,
		       struct err *err)
{
	CLEANUP(recent_done) struct recent r = {0};
	int e = recent_begin(&r, q, err);

	return e < 0 ? e : ring_read(c->ring, &r.rq, ret, err);
}
