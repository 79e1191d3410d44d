#include "sampler/cli/daemon/doctor_daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
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

/* Quotes within texts are escaped, so these are members. */
static size_t count_gaps(const char *text, size_t len)
{
	static const char *const kinds[] = {"\"kind\":\"gap\"", "\"kind\":\"sampling gap\""};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (const char *p = text; (p = memmem(p, (size_t)(text + len - p), kinds[i], strlen(kinds[i]))); p++)
			n++;
	return n;
}

static void say_absent(struct checks *c, const char *socket, int r, const struct err *why)
{
	if (r == -ENOENT || r == -ECONNREFUSED)
		checks_add(c, CHECK_SKIP, "daemon", "none answers at %s: no history is kept (jsampler-daemon(1))",
			   socket);
	else if (r == -EACCES || r == -EPERM)
		checks_add(c, CHECK_SKIP, "daemon", "%s is for root and members of the group jsampler", socket);
	else
		checks_add(c, CHECK_WARN, "daemon", "%s", why->msg);
}

void doctor_daemon(struct checks *c, const char *given)
{
	CLEANUP(free_at_exit) char *status = NULL, *events = NULL;
	const char *socket = given ? given : DAEMON_SOCKET;
	size_t len = 0, events_len = 0, gaps;
	struct err err = {0};
	double megabytes;
	int r = daemon_ask(socket, "/api/v1/status", &status, &len, &err);

	if (r == 0)
		r = daemon_ask(socket, "/api/v1/events?from=1d", &events, &events_len, &err);
	if (r < 0) {
		say_absent(c, socket, r, &err);
		return;
	}
	megabytes = (double)number_of(status, len, "\"store_bytes\":") / 1e6;
	gaps = count_gaps(events, events_len);
	if (!gaps) {
		checks_add(c, CHECK_OK, "daemon",
			   "answers at %s; its history takes %.1f MB, and has no gap in the last day", socket,
			   megabytes);
		return;
	}
	checks_add(c, CHECK_WARN, "daemon",
		   "answers at %s; its history takes %.1f MB, and has %zu gap%s in the last day", socket, megabytes,
		   gaps, gaps == 1 ? "" : "s");
	checks_remedy(c, "curl --unix-socket %s 'http://localhost/api/v1/events?from=1d'", socket);
}
