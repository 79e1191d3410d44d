#include "sampler/cli/daemon/doctor_daemon.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sampler/cli/daemon/daemon_get.h"
#include "sampler/doctor/checks.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"

/* The number after "KEY":, as the daemon writes it. */
static uint64_t number_of(const char *text, size_t len, const char *key)
{
	const char *p = memmem(text, len, key, strlen(key));
	uint64_t n = 0;

	if (p)
		p += strlen(key);
	return p && parse_digits(&p, text + len, 10, &n) == 0 ? n : 0;
}

/* Quotes within texts are escaped, so this is a member. */
static size_t count(const char *text, size_t len, const char *kind)
{
	char member[40];
	size_t n = 0;

	snprintf(member, sizeof(member), "\"kind\":\"%s\"", kind);
	for (const char *p = text; (p = memmem(p, (size_t)(text + len - p), member, strlen(member))); p++)
		n++;
	return n;
}

/* "; it was stopped and started again 2 times": an administrator, or an upgrade, has done that. */
static void say_restarts(char *dst, size_t size, size_t n)
{
	*dst = '\0';
	if (n)
		snprintf(dst, size, "; it was stopped and started again %zu time%s in that time", n, n == 1 ? "" : "s");
}

static void say_absent(struct checks *c, const char *socket, int r, const struct err *why)
{
	if (r == -ENOENT || r == -ECONNREFUSED)
		checks_add(c, CHECK_SKIP, "daemon",
			   "no daemon answers at %s, so no history is kept (jsampler-daemon(8))", socket);
	else if (r == -EACCES || r == -EPERM)
		checks_add(c, CHECK_SKIP, "daemon", "only root and members of the group jsampler may use %s", socket);
	else
		checks_add(c, CHECK_WARN, "daemon", "%s", why->msg);
}

void doctor_daemon(struct checks *c, const char *given)
{
	CLEANUP(free_at_exit) char *status = NULL, *events = NULL;
	const char *socket = given ? given : DAEMON_SOCKET;
	size_t len = 0, events_len = 0, gaps;
	struct err err = {0};
	char restarts[80];
	double megabytes;
	int r = daemon_ask(socket, "/api/v1/status", &status, &len, &err);

	if (r == 0)
		r = daemon_ask(socket, "/api/v1/events?from=1d", &events, &events_len, &err);
	if (r < 0) {
		say_absent(c, socket, r, &err);
		return;
	}
	megabytes = (double)number_of(status, len, "\"store_bytes\":") / 1e6;
	gaps = count(events, events_len, "gap") + count(events, events_len, "sampling gap");
	say_restarts(restarts, sizeof(restarts), count(events, events_len, "restart"));
	if (!gaps) {
		checks_add(c, CHECK_OK, "daemon",
			   "answers at %s; its history takes %.1f MB, and has no gap in the last day%s", socket,
			   megabytes, restarts);
		return;
	}
	checks_add(c, CHECK_WARN, "daemon",
		   "answers at %s; its history takes %.1f MB, and has %zu gap%s in the last day%s", socket, megabytes,
		   gaps, gaps == 1 ? "" : "s", restarts);
	checks_remedy(c, "curl --unix-socket %s 'http://localhost/api/v1/events?from=1d'", socket);
}
