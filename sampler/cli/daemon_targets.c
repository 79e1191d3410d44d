#include "sampler/cli/daemon_targets.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cli/daemon_get.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/target/proc.h"

#define SECOND_NS UINT64_C(1000000000)

enum { TARGETS_MAX = 5000 };

static bool is_still_there(pid_t pid, uint64_t start_ticks)
{
	struct proc *p;
	bool same;

	if (proc_open(pid, &p, NULL) < 0)
		return false;
	same = proc_start_ticks(p) == start_ticks;
	proc_close(p);
	return same;
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
	ret->hz = period && period <= SECOND_NS ? (uint32_t)((SECOND_NS + period / 2) / period) : 0;
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
		if (parse_line(text, line_end, &t, &start) && is_still_there(t.pid, start) && !vec_push(ret, t))
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
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].pid == pid)
			return &t->v[i];
	return NULL;
}
