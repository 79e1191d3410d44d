#include "sampler/cli/daemon/daemon_targets.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sampler/cli/daemon/daemon_get.h"
#include "sampler/store/day/target_id.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/target/proc.h"

#define SECOND_NS UINT64_C(1000000000)

enum { TARGETS_MAX = 5000 };

/* CLOCK_REALTIME, in seconds, of a time since boot in ticks. */
static uint64_t seconds_of(uint64_t ticks)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return clock_realtime_ns() / SECOND_NS - (uint64_t)boot.tv_sec + ticks / TARGET_ID_TICKS;
}

/* Of a program that was executed later, the start says when sampling it began. */
static bool is_still_there(const struct daemon_target *t, uint64_t start)
{
	uint64_t ticks;

	if (proc_started(t->pid, &ticks) < 0)
		return false;
	return ticks == start || (start / TARGET_ID_TICKS == t->since_s && seconds_of(ticks) <= t->since_s);
}

/* A number, and what ends it. */
static bool take(const char **p, const char *end, char after, uint64_t *ret)
{
	return parse_digits(p, end, 10, ret) == 0 && *p < end && *(*p)++ == after;
}

/* "BOOT:PID:START SINCE PERIOD WEIGHT SERVICE", with tabs between them. */
static bool parse_line(const char *p, const char *end, struct daemon_target *ret, uint64_t *ret_start)
{
	uint64_t pid, period, weight;
	const char *colon = memchr(p, ':', (size_t)(end - p));

	if (!colon)
		return false;
	p = colon + 1;
	if (!take(&p, end, ':', &pid) || pid == 0 || pid > INT_MAX || !take(&p, end, '\t', ret_start) ||
	    !take(&p, end, '\t', &ret->since_s) || !take(&p, end, '\t', &period) || !take(&p, end, '\t', &weight))
		return false;
	ret->pid = (pid_t)pid;
	ret->hz = period ? (double)SECOND_NS / (double)period : 0;
	snprintf(ret->service, sizeof(ret->service), "%.*s", (int)(end - p), p);
	return true;
}

static void parse(const char *text, size_t len, daemon_targets *ret)
{
	const char *end = text + len, *line_end;

	for (; text < end && ret->n < TARGETS_MAX; text = line_end + 1) {
		struct daemon_target t = {0};
		uint64_t start;

		line_end = memchr(text, '\n', (size_t)(end - text));
		if (!line_end)
			return;
		if (parse_line(text, line_end, &t, &start) && is_still_there(&t, start) && !vec_push(ret, t))
			return;
	}
}

void daemon_targets_read(const char *socket, daemon_targets *ret)
{
	CLEANUP(free_at_exit) char *bytes = NULL;
	struct err err = {0};
	size_t len = 0;
	int r = daemon_ask(socket, "/api/v1/targets?from=10m&format=text", &bytes, &len, &err);

	if (r == 0)
		parse(bytes, len, ret);
	else if (socket)
		log_warn("%s", err.msg);
}

const struct daemon_target *daemon_targets_find(const daemon_targets *t, pid_t pid)
{
	const struct daemon_target *last = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].pid == pid && (!last || t->v[i].since_s > last->since_s))
			last = &t->v[i];
	return last;
}
