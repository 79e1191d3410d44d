#include "sampler/doctor/checks_closed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/closed/closed.h"
#include "sampler/closed/landlock.h"
#include "sampler/doctor/checks.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/target/proc_stat.h"

enum { STATUS_MAX = 64 << 10, FILTER = 2 };

static int read_status(pid_t pid, struct proc_status *ret)
{
	CLEANUP(free_at_exit) char *text = NULL;
	char path[40];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	r = file_read_at(AT_FDCWD, path, STATUS_MAX, &text, NULL);
	return r < 0 ? r : proc_status_parse(text, ret);
}

/* Named as in proc_pid_status(5), which does not show Landlock. */
static void status_text(const struct proc_status *st, char *dst, size_t size)
{
	int version = landlock_version();
	char landlock[80];

	if (version < 0)
		snprintf(landlock, sizeof(landlock), "no Landlock (%s)", strerror(-version));
	else
		snprintf(landlock, sizeof(landlock), "Landlock %d", version);
	snprintf(dst, size, "uid %u, CapEff %" PRIx64 ", NoNewPrivs %d, Seccomp %d, %s", (unsigned)st->euid,
		 st->cap_effective, st->no_new_privs, st->seccomp, landlock);
}

/* A filter that a container has put around this program does not count. */
static bool has_own_filter(const struct proc_status *st)
{
	struct proc_status own;

	return st->seccomp == FILTER &&
	       (!st->seccomp_filters || read_status(getpid(), &own) < 0 || st->seccomp_filters > own.seccomp_filters);
}

/* For everything that is missing. */
#define REMEDY                                                                                                         \
	"a kernel with CONFIG_SECCOMP_FILTER=y; in a container, a seccomp profile that allows seccomp, capset, "       \
	"setresuid and setgroups"

static void say(struct checks *c, const char *name, const struct proc_status *st)
{
	bool filter = has_own_filter(st);
	bool closed = st->euid != 0 && st->uid != 0 && !st->cap_effective && st->no_new_privs && filter;
	char text[200];

	status_text(st, text, sizeof(text));
	checks_add(c, closed ? CHECK_OK : CHECK_WARN, name, "tried: what parses has %s%s%s", text,
		   filter ? "" : ", but no filter of its own",
		   closed ? "" : ": whoever takes it over can do more harm");
	if (!closed)
		checks_remedy(c, REMEDY);
}

struct look {
	struct proc_status st;
	int r;
};

static void look_at(void *ctx, pid_t child)
{
	struct look *l = ctx;

	l->r = read_status(child, &l->st);
}

void check_closed(struct checks *c)
{
	struct closed_gaps g;
	struct look l;
	struct err err = {0};

	if (closed_try(&g, look_at, &l, &err) < 0) {
		checks_add(c, CHECK_FAIL, "closed parsers", "tried: %s", err.msg);
		checks_remedy(c, REMEDY);
	} else if (l.r < 0) {
		checks_add(c, CHECK_SKIP, "closed parsers", "cannot be looked at in /proc: %s", strerror(-l.r));
	} else {
		say(c, "closed parsers", &l.st);
	}
}

void check_closed_child(struct checks *c, pid_t child)
{
	struct proc_status st;

	if (read_status(child, &st) == 0)
		say(c, CHECK_CLOSED_CHILD, &st);
}
