#include "sampler/doctor/checks_closed.h"

#include <stdio.h>
#include <string.h>

#include "sampler/closed/closed.h"
#include "sampler/closed/landlock.h"
#include "sampler/doctor/checks.h"

static const char *landlock_text(const struct closed_gaps *g, char *dst, size_t size)
{
	if (g->landlock)
		snprintf(dst, size, "no Landlock (%s)", strerror(-g->landlock));
	else
		snprintf(dst, size, "Landlock %d", landlock_version());
	return dst;
}

void check_closed(struct checks *c)
{
	struct closed_gaps g;
	char landlock[128];
	int r = closed_try(&g);

	if (r < 0) {
		checks_add(c, CHECK_SKIP, "closed parsers", "cannot be tried: %s", strerror(-r));
		return;
	}
	landlock_text(&g, landlock, sizeof(landlock));
	if (g.filter) {
		checks_add(c, CHECK_WARN, "closed parsers",
			   "tried: no filter of system calls (%s), %s: other people's saved "
			   "files can do more harm",
			   strerror(-g.filter), landlock);
		checks_remedy(
			c,
			"a kernel with CONFIG_SECCOMP_FILTER=y; in a container, a seccomp profile that allows seccomp");
		return;
	}
	checks_add(c, CHECK_OK, "closed parsers", "tried: a filter of system calls, %s%s, for what parses saved files",
		   landlock, g.ids ? ", but uid 0" : "");
}
