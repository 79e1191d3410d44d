/* Recordings on demand: starting one, listing them, and fetching one as a profile. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/http/answer.h"
#include "sampler/daemon/http/answer_parts.h"
#include "sampler/daemon/http/query.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"

enum { CREATED = 201 };

static const char *state_name(enum capture_state s)
{
	static const char *const names[] = {
		[CAPTURE_RUNNING] = "running", [CAPTURE_DONE] = "done", [CAPTURE_FAILED] = "failed"};

	return names[s];
}

static void put_capture(struct json *j, const struct capture *c)
{
	json_open(j, '{');
	json_member_uint(j, "id", c->id);
	json_member_text(j, "state", state_name(c->state));
	json_member_uint(j, "pid", (uint64_t)c->request.pid);
	json_member_uint(j, "frequency", c->request.hz);
	json_member_uint(j, "seconds", c->request.seconds);
	if (c->request.by != CAPTURE_BY_NOBODY)
		json_member_uint(j, "by", c->request.by);
	else
		json_member_text(j, "by", "token");
	json_member_uint(j, "bytes", c->bytes);
	json_member_text(j, "why", c->why);
	json_close(j, '}');
}

static int put_list(const struct capture *all, size_t n, struct answer *a, struct err *err)
{
	struct json j = {.out = open_memstream(&a->body, &a->len)};

	if (!j.out)
		return err_set(err, -ENOMEM, "out of memory");
	json_open(&j, '{');
	json_member_open(&j, "captures", '[');
	for (size_t i = 0; i < n; i++)
		put_capture(&j, &all[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', j.out);
	return answer_fill(a, ANSWER_JSON, j.out, err);
}

/* For jsampler capture. */
static int put_lines(const struct capture *all, size_t n, struct answer *a, struct err *err)
{
	FILE *out = open_memstream(&a->body, &a->len);

	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%" PRIu64 "\t%s\t%d\t%u\t%u\t%" PRIu64 "\t%s\n", all[i].id, state_name(all[i].state),
			all[i].request.pid, all[i].request.hz, all[i].request.seconds, all[i].bytes, all[i].why);
	return answer_fill(a, "text/plain; charset=utf-8", out, err);
}

int answer_captures(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	CLEANUP(free_at_exit) struct capture *all = NULL;
	size_t n = 0;
	int r = captures_list(c->captures, &all, &n);

	if (r < 0)
		return err_set(err, r, "cannot list the captures: %s", strerror(-r));
	return q->format && strcmp(q->format, "text") == 0 ? put_lines(all, n, a, err) : put_list(all, n, a, err);
}

int answer_capture(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	struct named_profile *np = NULL;
	int r = q->writer ? captures_read(c->captures, q->capture, &np, err) :
			    err_set(err, -EINVAL, "format=%.40s: no profile has this format", q->format);

	if (r == 0)
		r = answer_write(np, q->writer, a, err);
	named_profile_free(np);
	return r;
}

int answer_capture_new(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	const struct capture_request r = {
		.pid = q->target.pid,
		.start = q->target.start_ticks,
		.hz = q->hz ? q->hz : CAPTURE_HZ,
		.seconds = q->seconds ? q->seconds : CAPTURE_SECONDS,
		.by = c->by,
	};
	struct capture made = {.state = CAPTURE_RUNNING, .request = r};
	struct json j = {0};
	int e = captures_start(c->captures, &r, &made.id, err);

	if (e < 0)
		return e;
	j.out = open_memstream(&a->body, &a->len);
	if (!j.out)
		return err_set(err, -ENOMEM, "out of memory");
	put_capture(&j, &made);
	fputc('\n', j.out);
	e = answer_fill(a, ANSWER_JSON, j.out, err);
	a->status = CREATED;
	return e;
}
