#include "sampler/daemon/http/query.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/patterns/glob.h"
#include "symbolizer/patterns/regex.h"

#define SECOND UINT64_C(1000000000)

/* Defaults: the last ten minutes, CPU time. */
#define DEFAULT_NS (600 * SECOND)
#define DEFAULT_EVENT "cpu"

#define CELL_NS UINT64_C(20000000)

#define LABEL "label."
#define AGAINST "against"
#define DIFF_FORMAT "json"

enum { EVENT_MAX = 64, DAY_S = 86400, STEP_MAX_S = 365 * DAY_S };

/* The most cells that a default step may give. */
enum { DEFAULT_CELLS = 400 };

/* ".25" -> 250,000,000; *rest is moved behind it. */
static uint64_t parse_fraction(const char **rest)
{
	uint64_t ns = 0, digit = SECOND / 10;

	if (**rest != '.')
		return 0;
	while (*++*rest >= '0' && **rest <= '9') {
		ns += (uint64_t)(**rest - '0') * digit;
		digit /= 10;
	}
	return ns;
}

/* Seconds since 1970, with decimals or without, or how long ago: 30m, 2h, 3d. */
static int parse_moment(const char *text, uint64_t now_ns, uint64_t *ret)
{
	const char *rest = text, *end = text + strlen(text);
	uint64_t n = 0, ns = 0;
	bool number = parse_digits(&rest, end, 10, &n) == 0;

	if (number)
		ns = parse_fraction(&rest);
	if (number && !*rest) {
		if (n > INT64_MAX / SECOND || ns > INT64_MAX - n * SECOND)
			return -EINVAL;
		*ret = n || ns ? n * SECOND + ns : 1;
		return 0;
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

static int add_label(struct label *labels, size_t *n, const char *key, const char *pattern, struct err *err)
{
	if (*n == QUERY_LABELS)
		return err_set(err, -EINVAL, "more than %d labels", QUERY_LABELS);
	if (!*key || strlen(key) >= QUERY_VALUE_MAX)
		return err_set(err, -EINVAL, "label.KEY=PATTERN, such as label.service=shop-*");
	if (glob_check(pattern, err) < 0)
		return err_wrap(err, -EINVAL, "label.%.60s", key);
	labels[(*n)++] = (struct label){key, pattern};
	return 0;
}

/* BOOT:PID:START, as /api/v1/targets has them. */
static int set_target(struct query_target *t, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':'), *end = text + strlen(text), *rest;
	uint64_t pid = 0;

	if (colon && colon > text && (size_t)(colon - text) < sizeof(t->boot_id)) {
		rest = colon + 1;
		if (parse_digits(&rest, end, 10, &pid) == 0 && pid > 0 && pid <= INT_MAX && *rest++ == ':' &&
		    parse_digits(&rest, end, 10, &t->start_ticks) == 0 && !*rest) {
			snprintf(t->boot_id, sizeof(t->boot_id), "%.*s", (int)(colon - text), text);
			t->pid = (pid_t)pid;
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

	q->format = text;
	q->writer = writer_find(text);
	if (q->writer && !*q->writer->endings) /* for tests */
		q->writer = NULL;
	if (q->writer || strcmp(text, DIFF_FORMAT) == 0)
		return 0;
	writer_names(names, sizeof(names));
	return err_set(err, -EINVAL, "format=%.40s: one of %s, or for a diff json", text, names);
}

static int set_regex(const char *key, const char *text, const char **ret, struct err *err)
{
	struct regex *re = NULL;
	int r = regex_new(text, &re, err);

	regex_free(re);
	*ret = text;
	return r < 0 ? err_wrap(err, r, "%s", key) : 0;
}

static int set_seconds(struct query *q, const char *text, struct err *err)
{
	uint64_t s;

	if (parse_u64(text, 1, DAY_S, &s) < 0)
		return err_set(err, -EINVAL, "seconds=%.20s: from 1 to %d", text, DAY_S);
	q->seconds = (uint32_t)s;
	return 0;
}

static int set_hz(struct query *q, const char *text, struct err *err)
{
	uint64_t hz;

	if (parse_u64(text, 1, CAPTURE_HZ_MAX, &hz) < 0)
		return err_set(err, -EINVAL, "frequency=%.20s: from 1 to %d", text, CAPTURE_HZ_MAX);
	q->hz = (uint32_t)hz;
	return 0;
}

/* Instead of a target, where a running process is meant. */
static int set_pid(struct query *q, const char *text, struct err *err)
{
	uint64_t pid;

	if (parse_u64(text, 1, INT_MAX, &pid) < 0)
		return err_set(err, -EINVAL, "pid=%.20s: a number", text);
	q->target = (struct query_target){.pid = (pid_t)pid};
	return 0;
}

static int set_flag(const char *key, const char *text, bool *ret, struct err *err)
{
	*ret = strcmp(text, "1") == 0;
	return *ret || strcmp(text, "0") == 0 ? 0 : err_set(err, -EINVAL, "%s=%.20s: 0 or 1", key, text);
}

static int set_split(struct query *q, const char *text, struct err *err)
{
	if (strcmp(text, "kind") == 0)
		q->split = STORE_BY_KIND;
	else if (strcmp(text, "target") == 0)
		q->split = STORE_BY_TARGET;
	else if (strncmp(text, LABEL, sizeof(LABEL) - 1) == 0 && text[sizeof(LABEL) - 1])
		q->split = STORE_BY_LABEL;
	else
		return err_set(err, -EINVAL, "by=%.60s: kind, target, or a label, such as label.service", text);
	q->split_key = text + sizeof(LABEL) - 1;
	return 0;
}

/* A number of seconds, or 10m, 1h, ...; 20ms is only for the last hour in memory. */
static int set_step(struct query *q, const char *text, struct err *err)
{
	const char *rest = text;
	uint64_t s = 0, ns;

	q->cell_ns = strcmp(text, "20ms") == 0 ? CELL_NS : 0;
	if (q->cell_ns)
		return 0;
	if (parse_digits(&rest, text + strlen(text), 10, &s) < 0 || *rest)
		s = parse_span(text, STEP_MAX_S / DAY_S, &ns) < 0 ? 0 : ns / SECOND;
	if ((s != 10 && s != 60 && s % 600 != 0) || !s || s > STEP_MAX_S)
		return err_set(err, -EINVAL,
			       "step=%.20s: 20ms, or 10, 60, or a multiple of 600 seconds; a year at most", text);
	q->step_s = (uint32_t)s;
	return 0;
}

static int add_against(struct query *q, const char *key, const char *value, uint64_t now_ns, struct err *err)
{
	const char *rest = key + sizeof(AGAINST) - 1;

	if (!*rest)
		return set_moment(key, value, now_ns, &q->against_ns, err);
	if (strcmp(rest, ".target") == 0)
		return set_target(&q->against_target, value, err);
	if (*rest == '.' && strncmp(rest + 1, LABEL, sizeof(LABEL) - 1) == 0)
		return add_label(q->against, &q->n_against, rest + sizeof(LABEL), value, err);
	return err_set(err, -EINVAL, "%.60s: against=TIME, against.target=TARGET, against.label.KEY=PATTERN", key);
}

int query_add(struct query *q, const char *key, const char *value, uint64_t now_ns, struct err *err)
{
	if (strcmp(key, "from") == 0)
		return set_moment(key, value, now_ns, &q->from_ns, err);
	if (strcmp(key, "to") == 0)
		return set_moment(key, value, now_ns, &q->to_ns, err);
	if (strcmp(key, "event") == 0)
		return set_event(q, value, err);
	if (strcmp(key, "target") == 0)
		return set_target(&q->target, value, err);
	if (strcmp(key, "format") == 0)
		return set_format(q, value, err);
	if (strcmp(key, "method") == 0)
		return set_regex(key, value, &q->method, err);
	if (strcmp(key, "thread") == 0)
		return set_regex(key, value, &q->thread, err);
	if (strcmp(key, "exact") == 0)
		return set_flag(key, value, &q->exact, err);
	if (strcmp(key, "seconds") == 0)
		return set_seconds(q, value, err);
	if (strcmp(key, "frequency") == 0)
		return set_hz(q, value, err);
	if (strcmp(key, "pid") == 0)
		return set_pid(q, value, err);
	if (strcmp(key, "self") == 0)
		return set_flag(key, value, &q->self, err);
	if (strcmp(key, "by") == 0)
		return set_split(q, value, err);
	if (strcmp(key, "step") == 0)
		return set_step(q, value, err);
	if (strncmp(key, LABEL, sizeof(LABEL) - 1) == 0)
		return add_label(q->labels, &q->n_labels, key + sizeof(LABEL) - 1, value, err);
	if (strncmp(key, AGAINST, sizeof(AGAINST) - 1) == 0)
		return add_against(q, key, value, now_ns, err);
	return err_set(err, -EINVAL,
		       "unknown argument %.60s; there are: from, to, target, label.KEY, event, format, against, "
		       "method, self, by, step, exact, thread, seconds, frequency, pid",
		       key);
}

/* The finest step that makes few enough cells. */
static uint32_t default_step(uint64_t range_s)
{
	uint64_t least = range_s / DEFAULT_CELLS + 1;

	if (least <= 60)
		return least <= 10 ? 10 : 60;
	least = (least + 599) / 600 * 600;
	return least < UINT32_MAX / 600 * 600 ? (uint32_t)least : UINT32_MAX / 600 * 600;
}

/* The other side: the same range of other programs, or the preceding range of the same length. */
static void end_against(struct query *q)
{
	uint64_t length = q->to_ns - q->from_ns;
	size_t own = q->n_against;
	bool others = own || q->against_target.pid, given = q->against_ns;

	if (!q->against_ns)
		q->against_ns = others ? q->from_ns : q->from_ns > length ? q->from_ns - length : 1;
	q->against_to_ns = q->against_ns + length;
	if (!given && !others && q->against_to_ns > q->from_ns) /* it would begin before 1970 */
		q->against_to_ns = q->from_ns > 1 ? q->from_ns : 2;
	for (size_t i = 0; i < q->n_labels; i++) {
		bool has = false;

		for (size_t k = 0; k < own; k++)
			has |= strcmp(q->against[k].key, q->labels[i].key) == 0;
		if (!has)
			q->against[q->n_against++] = q->labels[i];
	}
	if (!others)
		q->against_target = q->target;
}

int query_end(struct query *q, uint64_t now_ns, struct err *err)
{
	if (!q->to_ns)
		q->to_ns = now_ns;
	if (!q->from_ns)
		q->from_ns = q->to_ns > DEFAULT_NS ? q->to_ns - DEFAULT_NS : 1;
	if (!q->event)
		q->event = DEFAULT_EVENT;
	if (!q->format)
		q->writer = &writer_pprof;
	if (q->from_ns >= q->to_ns)
		return err_set(err, -EINVAL, "from is not before to");
	if (!q->step_s)
		q->step_s = default_step((q->to_ns - q->from_ns) / SECOND);
	end_against(q);
	return 0;
}

int query_check_recent(const struct query *q, enum query_recent has, struct err *err)
{
	if (q->exact && has != QUERY_RECENT_PROFILE)
		return err_set(err, -EINVAL, "exact=1: only /api/v1/profile can be exact");
	if (q->cell_ns && has != QUERY_RECENT_CELLS)
		return err_set(err, -EINVAL, "step=20ms: only /api/v1/heatmap has such steps");
	if (q->thread && !q->exact && !q->cell_ns)
		return err_set(err, -EINVAL,
			       "thread= needs a profile with exact=1, or a heat map with step=20ms: "
			       "the history keeps pools of threads, not single ones");
	if (q->method && has == QUERY_RECENT_PROFILE && !q->exact)
		return err_set(err, -EINVAL, "method= of a profile needs exact=1");
	return 0;
}

void query_of_store(const struct query *q, struct store_query *ret)
{
	*ret = (struct store_query){
		.from_ns = q->from_ns,
		.to_ns = q->to_ns,
		.event = q->event,
		.labels = q->labels,
		.n_labels = q->n_labels,
		.pid = q->target.pid,
		.boot_id = q->target.boot_id,
		.start_ticks = q->target.start_ticks,
	};
}

void query_of_store_against(const struct query *q, struct store_query *ret)
{
	*ret = (struct store_query){
		.from_ns = q->against_ns,
		.to_ns = q->against_to_ns,
		.event = q->event,
		.labels = q->against,
		.n_labels = q->n_against,
		.pid = q->against_target.pid,
		.boot_id = q->against_target.boot_id,
		.start_ticks = q->against_target.start_ticks,
	};
}
