/* What the daemon itself uses, and its state. */
#include <errno.h>
#include <stdio.h>

#include "sampler/daemon/http/answer.h"
#include "sampler/daemon/http/answer_parts.h"
#include "sampler/daemon/http/daemon_state.h"
#include "sampler/daemon/ring/ring.h"
#include "sampler/store/store.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"

#define MILLIONTHS 1e6

static void put_decimal(struct json *j, const char *key, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.6f", value);
	json_key(j, key);
	json_raw(j, text);
}

int answer_status(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	struct json j = {.out = open_memstream(&a->body, &a->len)};

	(void)q;
	if (!j.out)
		return err_set(err, -ENOMEM, "out of memory");
	json_open(&j, '{');
	json_member_text(&j, "version", JS_VERSION);
	json_member_uint(&j, "store_bytes", store_bytes(c->store));
	put_decimal(&j, "keeper_cpu_seconds", (double)clock_process_cpu_ns() / 1e9);
	json_member_uint(&j, "ring_bytes", ring_state(c->ring).bytes);
	json_member_uint(&j, "names_left_out", c->state->names_left_out);
	json_member_uint(&j, "jvms", c->state->jvms);
	json_member_uint(&j, "jvms_lowered", c->state->lowered);
	json_member_uint(&j, "jvms_starved", c->state->starved);
	json_member_uint(&j, "jvms_slower", c->state->slower);
	json_member_uint(&j, "captures", c->state->captures);
	put_decimal(&j, "cores_used", (double)c->state->own_cpu / MILLIONTHS);
	put_decimal(&j, "cores_limit", (double)c->state->cpu_limit / MILLIONTHS);
	json_member_bool(&j, "over_limit", c->state->helpless != 0);
	json_member_uint(&j, "lost_samples", c->state->lost_samples);
	json_member_uint(&j, "lost_records", c->state->lost_records);
	json_member_uint(&j, "ended_samples", c->state->ended_samples);
	json_member_uint(&j, "late_samples", c->state->late_samples);
	json_close(&j, '}');
	fputc('\n', j.out);
	return answer_fill(a, ANSWER_JSON, j.out, err);
}

static void put_metric(FILE *out, const char *name, const char *type, const char *help, double value)
{
	fprintf(out, "# HELP jsampler_%s %s\n# TYPE jsampler_%s %s\njsampler_%s %.15g\n", name, help, name, type, name,
		value);
}

int answer_metrics(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err)
{
	FILE *out = open_memstream(&a->body, &a->len);
	const struct daemon_state *s = c->state;

	(void)q;
	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	fprintf(out, "# HELP jsampler_build_info What runs.\n# TYPE jsampler_build_info gauge\n"
		     "jsampler_build_info{version=\"" JS_VERSION "\"} 1\n");
	put_metric(out, "store_bytes", "gauge", "What the history takes on disk.", (double)store_bytes(c->store));
	put_metric(out, "keeper_cpu_seconds_total", "counter", "CPU time of the process that keeps the history.",
		   (double)clock_process_cpu_ns() / 1e9);
	put_metric(out, "ring_bytes", "gauge", "Memory used by the samples of the last hour.",
		   (double)ring_state(c->ring).bytes);
	put_metric(out, "names_left_out_total", "counter",
		   "How often a frame or thread was stored without its name, since there was no room for it.",
		   (double)s->names_left_out);
	put_metric(out, "jvms", "gauge", "JVMs that are sampled.", (double)s->jvms);
	put_metric(out, "jvms_lowered", "gauge", "Of these, sampled less often because of cpu_limit or lost samples.",
		   (double)s->lowered);
	put_metric(out, "jvms_starved", "gauge", "Of these, because of lost samples.", (double)s->starved);
	put_metric(out, "jvms_slower", "gauge", "Of all, sampled less often than the default because a rule says so.",
		   (double)s->slower);
	put_metric(out, "captures", "gauge", "Captures that run.", (double)s->captures);
	put_metric(out, "cores_used", "gauge", "CPU time of the daemon without captures, in the mean of 10 s.",
		   (double)s->own_cpu / MILLIONTHS);
	put_metric(out, "cores_limit", "gauge", "cpu_limit.", (double)s->cpu_limit / MILLIONTHS);
	put_metric(out, "over_limit", "gauge", "1: above cpu_limit, and no JVM can be sampled less often.",
		   (double)s->helpless);
	put_metric(out, "lost_samples_total", "counter",
		   "Samples for which there was no room, of all JVMs that are sampled together.",
		   (double)s->lost_samples);
	put_metric(out, "lost_records_total", "counter",
		   "Records of names, threads, programs and mapped files for which there was no room, at least.",
		   (double)s->lost_records);
	put_metric(out, "ended_samples_total", "counter",
		   "Samples of threads that had just ended, for which the kernel does not say the program.",
		   (double)s->ended_samples);
	put_metric(out, "late_samples_total", "counter",
		   "Samples that were read when their program had ended, or was not sampled any more.",
		   (double)s->late_samples);
	return answer_fill(a, "text/plain; version=0.0.4; charset=utf-8", out, err);
}
