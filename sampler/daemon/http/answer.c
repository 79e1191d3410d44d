#include "sampler/daemon/http/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/http/answer_parts.h"
#include "sampler/daemon/http/query.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/store/store.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"
#include "symbolizer/base/text.h"

/* Rows of a list; more are left out, and the answer says so. */
enum { ROWS_MAX = 5000 };

static const char *const kinds[NAMED_KINDS] = {
	[NAMED_KERNEL] = "kernel",
	[NAMED_NATIVE] = "native",
	[NAMED_INTERPRETED] = "interpreted",
	[NAMED_C1] = "c1",
	[NAMED_C2] = "c2",
	[NAMED_INLINED] = "inlined",
	[NAMED_STUB] = "stub",
	[NAMED_JAVA_NATIVE] = "java_native",
};

const char *answer_kind(enum named_kind k)
{
	return k < NAMED_KINDS ? kinds[k] : NULL;
}

static void view_close(struct store_view **v)
{
	store_view_close(*v);
}

int answer_open(const struct answer_context *c, const struct store_query *q, struct store_view **ret, struct err *err)
{
	int r = store_view_open(c->store, q, ret, err);

	if (r == 0)
		store_view_use_threads(*ret);
	return r;
}

int answer_view(const struct answer_context *c, const struct query *q, struct store_view **ret, struct err *err)
{
	struct store_query sq;

	query_of_store(q, &sq);
	return answer_open(c, &sq, ret, err);
}

int answer_fill(struct answer *a, const char *type, FILE *out, struct err *err)
{
	if (fclose(out) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	*a = (struct answer){200, type, a->body, a->len};
	return 0;
}

/* --- lists --- */

struct listing {
	struct json j;
	size_t rows;
};

static bool begin_list(struct listing *l, struct answer *a, const char *name)
{
	l->j.out = open_memstream(&a->body, &a->len);
	if (!l->j.out)
		return false;
	json_open(&l->j, '{');
	json_member_open(&l->j, name, '[');
	return true;
}

static int end_list(struct listing *l, struct answer *a, int r, struct err *err)
{
	json_close(&l->j, ']');
	json_member_bool(&l->j, "truncated", l->rows > ROWS_MAX);
	json_close(&l->j, '}');
	fputc('\n', l->j.out);
	if (answer_fill(a, ANSWER_JSON, l->j.out, err) < 0)
		return -ENOMEM;
	return r < 0 ? r : 0;
}

static void put_seconds(struct json *j, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, ns / 1000000000, ns / 1000000 % 1000);
	json_raw(j, text);
}

/* A key that the worker chose. */
static void put_key(struct json *j, const char *key)
{
	json_text(j, key);
	fputc(':', j->out);
	j->comma = false;
	j->key = true;
}

void answer_put_target(struct json *j, const struct store_target *t)
{
	char id[80];

	snprintf(id, sizeof(id), "%s:%d:%" PRIu64, t->boot_id, t->pid, t->start_ticks);
	json_member_text(j, "target", id);
	json_member_uint(j, "pid", (uint64_t)t->pid);
	json_member_open(j, "labels", '{');
	for (size_t i = 0; i < t->n_labels; i++) {
		put_key(j, t->labels[i].key);
		json_text(j, t->labels[i].value);
	}
	json_close(j, '}');
}

static int put_row(void *ctx, const struct store_row *row)
{
	struct listing *l = ctx;

	if (l->rows++ >= ROWS_MAX)
		return 1;
	json_open(&l->j, '{');
	answer_put_target(&l->j, &row->target);
	json_member_uint(&l->j, "since", row->target.since_ns / 1000000000);
	json_member_uint(&l->j, "period", row->period);
	json_member_uint(&l->j, "from", row->first_s);
	json_member_uint(&l->j, "to", row->last_s);
	json_member_uint(&l->j, "samples", row->samples);
	json_member_uint(&l->j, "weight", row->weight);
	json_member_open(&l->j, "kinds", '{');
	for (int k = 0; k < NAMED_KINDS; k++)
		if (kinds[k] && row->by_kind[k])
			json_member_uint(&l->j, kinds[k], row->by_kind[k]);
	json_close(&l->j, '}');
	json_close(&l->j, '}');
	return 0;
}

static int read_targets(struct store_view *v, struct listing *l, struct err *err)
{
	return store_view_targets(v, ROWS_MAX + 1, put_row, l, err);
}

static int put_event(void *ctx, const struct store_happening *h)
{
	struct listing *l = ctx;

	if (l->rows++ >= ROWS_MAX)
		return 1;
	json_open(&l->j, '{');
	json_key(&l->j, "time");
	put_seconds(&l->j, h->at_ns);
	json_member_text(&l->j, "kind", h->kind);
	json_member_text(&l->j, "text", h->text);
	if (h->target.pid)
		answer_put_target(&l->j, &h->target);
	json_close(&l->j, '}');
	return 0;
}

static int read_events(struct store_view *v, struct listing *l, struct err *err)
{
	return store_view_happenings(v, put_event, l, err);
}

static int answer_list(const struct answer_context *c, const struct query *q, const char *name,
		       int (*read)(struct store_view *v, struct listing *l, struct err *err), struct answer *a,
		       struct err *err)
{
	CLEANUP(view_close) struct store_view *v = NULL;
	struct listing l = {0};
	int r = answer_view(c, q, &v, err);

	if (r < 0)
		return r;
	if (!begin_list(&l, a, name))
		return err_set(err, -ENOMEM, "out of memory");
	return end_list(&l, a, read(v, &l, err), err);
}

static int put_line(void *ctx, const struct store_row *row)
{
	FILE *out = ctx;
	const struct store_target *t = &row->target;
	char service[QUERY_VALUE_MAX] = "";

	for (size_t i = 0; i < t->n_labels; i++)
		if (strcmp(t->labels[i].key, "service") == 0)
			text_sanitise(service, sizeof(service), t->labels[i].value, strlen(t->labels[i].value));
	fprintf(out, "%s:%d:%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", t->boot_id, t->pid,
		t->start_ticks, t->since_ns / 1000000000, row->period, row->weight, service);
	return 0;
}

/* For programs that do not read JSON, among them jsampler list. */
static int answer_lines(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	CLEANUP(view_close) struct store_view *v = NULL;
	FILE *out;
	int r = answer_view(c, q, &v, err);

	if (r < 0)
		return r;
	out = open_memstream(&a->body, &a->len);
	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	r = store_view_targets(v, ROWS_MAX, put_line, out, err);
	return answer_fill(a, "text/plain; charset=utf-8", out, err) < 0 ? -ENOMEM : r;
}

int answer_targets(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	if (q->format && strcmp(q->format, "text") == 0)
		return answer_lines(c, q, a, err);
	return answer_list(c, q, "targets", read_targets, a, err);
}

int answer_events(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	return answer_list(c, q, "events", read_events, a, err);
}

/* --- health; status and metrics: answer_status.c --- */

int answer_health(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	FILE *out = open_memstream(&a->body, &a->len);

	(void)c;
	(void)q;
	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	fputs("ok\n", out);
	return answer_fill(a, "text/plain; charset=utf-8", out, err);
}

/* --- profiles --- */

static const char *type_of(const struct writer *w)
{
	static const char *const types[][2] = {
		{"html", "text/html; charset=utf-8"},
		{"pprof", "application/octet-stream"},
		{"speedscope", ANSWER_JSON},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(w->name, types[i][0]) == 0)
			return types[i][1];
	return "text/plain; charset=utf-8";
}

int answer_write(const struct named_profile *np, const struct writer *w, struct answer *a, struct err *err)
{
	const struct writer_options wo = {.annotate = true};
	FILE *out = open_memstream(&a->body, &a->len);
	int r;

	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	r = w->write(np, &wo, out, err);
	if (fclose(out) != 0 && r == 0)
		r = err_set(err, -ENOMEM, "out of memory");
	*a = (struct answer){200, type_of(w), a->body, a->len};
	return r;
}

int answer_profile(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	CLEANUP(view_close) struct store_view *v = NULL;
	struct named_profile *np = NULL;
	int r = q->writer ? 0 : err_set(err, -EINVAL, "format=%.40s: no profile has this format", q->format);

	if (r == 0)
		r = q->exact ? answer_recent_read(c, q, &np, err) : answer_view(c, q, &v, err);
	if (r == 0 && !q->exact)
		r = store_view_read(v, &np, err);
	if (r == 0)
		r = answer_write(np, q->writer, a, err);
	named_profile_free(np);
	return r;
}

/* The default range for Go's pprof, which passes none. */
enum { PPROF_S = 30 };

/* A step is complete, sent and stored this long after its end. */
#define PPROF_LATE_NS UINT64_C(15000000000)

/* The latest steps that are stored: a client that comes every N seconds and asks for N seconds gets each step once. */
int answer_pprof(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	uint64_t step = STORE_STEP_S * UINT64_C(1000000000), now = clock_realtime_ns() - PPROF_LATE_NS;
	uint64_t length = (q->seconds ? q->seconds : PPROF_S) * UINT64_C(1000000000);
	struct query last = *q;

	last.to_ns = now / step * step;
	last.from_ns = (now - length) / step * step;
	if (last.from_ns == last.to_ns)
		last.from_ns -= step;
	last.writer = &writer_pprof;
	return answer_profile(c, &last, a, err);
}

/* --- errors --- */

static unsigned status_of(int code)
{
	switch (code) {
	case -EINVAL:
	case -ETIME: return 400;
	case -EACCES: return 401;
	case -EPERM: return 403;
	case -ENOENT:
	case -ENODATA: return 404;
	case -EOPNOTSUPP: return 405;
	case -EALREADY:
	case -EAGAIN: return 409;
	case -E2BIG: return 413;
	case -EBUSY:
	case -ENOMEM: return 503;
	default: return 500;
	}
}

void answer_error(struct answer *a, int code, const struct err *why)
{
	struct json j = {0};

	free(take_ptr(a->body));
	*a = (struct answer){.status = status_of(code), .type = ANSWER_JSON};
	j.out = open_memstream(&a->body, &a->len);
	if (!j.out)
		return;
	json_open(&j, '{');
	json_member_text(&j, "error", why->msg);
	json_close(&j, '}');
	fputc('\n', j.out);
	if (fclose(j.out) != 0)
		a->len = 0;
}
