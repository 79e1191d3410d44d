#include "sampler/daemon/http/query.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/glob.h"
#include "symbolizer/base/parse.h"

#define SECOND UINT64_C(1000000000)

/* What is not given: the last ten minutes of CPU time. */
#define DEFAULT_NS (600 * SECOND)
#define DEFAULT_EVENT "cpu"

enum { EVENT_MAX = 64, DAY_S = 86400 };

/* Seconds since 1970, or how long ago: 30m, 2h, 3d. */
static int parse_moment(const char *text, uint64_t now_ns, uint64_t *ret)
{
	const char *rest = text, *end = text + strlen(text);
	uint64_t n = 0, ns;

	if (parse_digits(&rest, end, 10, &n) == 0 && !*rest) {
		*ret = n ? n * SECOND : 1;
		return n <= INT64_MAX / SECOND ? 0 : -EINVAL;
	}
	if (parse_span(text, INT64_MAX / SECOND / DAY_S, &ns) < 0)
		return -EINVAL;
	*ret = ns < now_ns ? now_ns - ns : 1;
	return 0;
}

static int set_moment(const char *key, const char *text, uint64_t now_ns, uint64_t *ret, struct err *err)
{
	if (parse_moment(text, now_ns, ret) < 0)
		return err_set(err, -EINVAL, "%s=%.60s: seconds since 1970, or how long ago (30m, 2h, 3d)", key, text);
	return 0;
}

static int add_label(struct query *q, const char *key, const char *pattern, struct err *err)
{
	if (q->n_labels == QUERY_LABELS)
		return err_set(err, -EINVAL, "more than %d labels", QUERY_LABELS);
	if (!*key || strlen(key) >= QUERY_VALUE_MAX)
		return err_set(err, -EINVAL, "label.KEY=PATTERN, such as label.service=shop-*");
	if (glob_check(pattern, err) < 0)
		return err_wrap(err, -EINVAL, "label.%.60s", key);
	q->labels[q->n_labels++] = (struct label){key, pattern};
	return 0;
}

/* BOOT:PID:START, as /api/v1/targets has them. */
static int set_target(struct query *q, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':'), *end = text + strlen(text), *rest;
	uint64_t pid = 0;

	if (colon && colon > text && (size_t)(colon - text) < sizeof(q->boot_id)) {
		rest = colon + 1;
		if (parse_digits(&rest, end, 10, &pid) == 0 && pid > 0 && pid <= INT_MAX && *rest++ == ':' &&
		    parse_digits(&rest, end, 10, &q->start_ticks) == 0 && !*rest) {
			snprintf(q->boot_id, sizeof(q->boot_id), "%.*s", (int)(colon - text), text);
			q->pid = (pid_t)pid;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "target=%.80s: one of those that /api/v1/targets lists", text);
}

static int set_event(struct query *q, const char *text, struct err *err)
{
	if (!*text || strlen(text) > EVENT_MAX)
		return err_set(err, -EINVAL, "event=NAME, such as cpu");
	q->event = text;
	return 0;
}

static int set_format(struct query *q, const char *text, struct err *err)
{
	char names[200];

	q->writer = writer_find(text);
	if (q->writer && *q->writer->endings) /* others are for tests */
		return 0;
	q->writer = NULL;
	writer_names(names, sizeof(names));
	return err_set(err, -EINVAL, "format=%.40s: one of %s", text, names);
}

int query_add(struct query *q, const char *key, const char *value, uint64_t now_ns, struct err *err)
{
	static const char label[] = "label.";

	if (strcmp(key, "from") == 0)
		return set_moment(key, value, now_ns, &q->from_ns, err);
	if (strcmp(key, "to") == 0)
		return set_moment(key, value, now_ns, &q->to_ns, err);
	if (strcmp(key, "event") == 0)
		return set_event(q, value, err);
	if (strcmp(key, "target") == 0)
		return set_target(q, value, err);
	if (strcmp(key, "format") == 0)
		return set_format(q, value, err);
	if (strncmp(key, label, sizeof(label) - 1) == 0)
		return add_label(q, key + sizeof(label) - 1, value, err);
	return err_set(err, -EINVAL, "unknown argument %.60s; there are: from, to, target, label.KEY, event, format",
		       key);
}

int query_end(struct query *q, uint64_t now_ns, struct err *err)
{
	if (!q->to_ns)
		q->to_ns = now_ns;
	if (!q->from_ns)
		q->from_ns = q->to_ns > DEFAULT_NS ? q->to_ns - DEFAULT_NS : 1;
	if (!q->event)
		q->event = DEFAULT_EVENT;
	if (!q->writer)
		q->writer = &writer_pprof;
	return q->from_ns < q->to_ns ? 0 : err_set(err, -EINVAL, "from is not before to");
}

void query_of_store(const struct query *q, struct store_query *ret)
{
	*ret = (struct store_query){
		.from_ns = q->from_ns,
		.to_ns = q->to_ns,
		.event = q->event,
		.labels = q->labels,
		.n_labels = q->n_labels,
		.pid = q->pid,
		.boot_id = q->boot_id,
		.start_ticks = q->start_ticks,
	};
}
