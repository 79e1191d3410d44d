#include "sampler/doctor/checks_closed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/closed/closed.h"
#include "sampler/closed/landlock.h"
#include "sampler/doctor/checks.h"
#include "symbolizer/base/caps.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/target/proc_stat.h"

enum { STATUS_MAX = 64 << 10, FILTER = 2 };

/* Named as in proc_pid_status(5). */
static void status_text(const struct proc_status *st, char *dst, size_t size)
{
	snprintf(dst, size, "uid %u, CapEff %" PRIx64 ", NoNewPrivs %d, Seccomp %d", (unsigned)st->euid,
		 st->cap_effective, st->no_new_privs, st->seccomp);
}

/* proc_pid_status(5) does not show it. */
static void landlock_text(char *dst, size_t size)
{
	int version = landlock_version();

	if (version < 0)
		snprintf(dst, size, "no Landlock (%s)", strerror(-version));
	else
		snprintf(dst, size, "Landlock %d", version);
}

/* A filter that a container has put around this program does not count. */
static bool has_own_filter(const struct proc_status *st)
{
	struct proc_status own;

	return st->seccomp == FILTER && (!st->seccomp_filters || proc_status_of(getpid(), &own) < 0 ||
					 st->seccomp_filters > own.seccomp_filters);
}

/* For everything that is missing. */
#define REMEDY                                                                                                         \
	"a kernel with CONFIG_SECCOMP_FILTER=y; in a container, a seccomp profile that allows seccomp, capset, "       \
	"setresuid and setgroups"

static bool holds_at_most(const struct proc_status *st, uint64_t caps)
{
	return st->euid != 0 && st->uid != 0 && !(st->cap_effective & ~caps) && st->no_new_privs;
}

static void say(struct checks *c, const char *name, const struct proc_status *st)
{
	bool filter = has_own_filter(st);
	bool closed = holds_at_most(st, 0) && filter;
	char text[160], landlock[80];

	status_text(st, text, sizeof(text));
	landlock_text(landlock, sizeof(landlock));
	checks_add(c, closed ? CHECK_OK : CHECK_WARN, name, "tried: what parses has %s, %s%s%s", text, landlock,
		   filter ? "" : ", but no filter of its own",
		   closed ? "" : ": an attacker who takes it over can do more harm");
	if (!closed)
		checks_remedy(c, REMEDY);
}

struct look {
	struct proc_status st;
	int r;
};

static void look_at(void *ctx, int status)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct look *l = ctx;

	l->r = status < 0 ? -ENOENT : file_read_fd(status, STATUS_MAX, &text, NULL);
	if (l->r == 0)
		l->r = proc_status_parse(text, &l->st);
}

/* False: it could not be looked at, and that is said. */
static bool look_at_trial(struct checks *c, const char *name, enum closed_work work, struct proc_status *ret)
{
	struct closed_gaps g;
	struct look l;
	struct err err = {0};

	if (closed_try(work, &g, look_at, &l, &err) < 0) {
		checks_add(c, CHECK_FAIL, name, "tried: %s", err.msg);
		checks_remedy(c, REMEDY);
		return false;
	}
	if (l.r < 0)
		checks_add(c, CHECK_SKIP, name, "cannot be looked at in /proc: %s", strerror(-l.r));
	*ret = l.st;
	return l.r == 0;
}

void check_closed(struct checks *c)
{
	struct proc_status st;

	if (look_at_trial(c, "closed parsers", CLOSED_FILES, &st))
		say(c, "closed parsers", &st);
}

static void say_tracer(struct checks *c, const char *name, const struct proc_status *st)
{
	const uint64_t needed = cap_bit(CAP_SYS_PTRACE) | cap_bit(CAP_DAC_READ_SEARCH);
	bool filter = has_own_filter(st);
	bool keeps_all = st->euid == 0 && !(st->cap_effective & cap_bit(CAP_SYS_PTRACE));
	bool closed = holds_at_most(st, needed) && filter;
	char text[160];

	status_text(st, text, sizeof(text));
	checks_add(c, closed ? CHECK_OK : CHECK_WARN, name, "tried: what stops threads (-e wall) has %s%s%s", text,
		   filter ? "" : ", but no filter of its own",
		   keeps_all ?
			   ": without CAP_SYS_PTRACE it keeps what it has, and cannot stop a process that has more" :
			   "");
	if (!closed)
		checks_remedy(c, "%s", keeps_all ? "CAP_SYS_PTRACE; in a container: --cap-add SYS_PTRACE" : REMEDY);
}

void check_closed_tracer(struct checks *c)
{
	struct proc_status st;

	if (look_at_trial(c, "closed tracer", CLOSED_TRACING, &st))
		say_tracer(c, "closed tracer", &st);
}

void check_closed_child(struct checks *c, pid_t child)
{
	struct proc_status st;

	if (proc_status_of(child, &st) == 0)
		say(c, CHECK_CLOSED_CHILD, &st);
}
