#include "jvm-bridge/attach/attach_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm-bridge/attach/confine.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/unused_id.h"
#include "symbolizer/target/proc_stat.h"

enum { MAX_STAT = 4096 };

/* The JVM compares user ids in its own user namespace; an unmapped id is "nobody" there. */
static int enter_user_namespace(struct attach_child *in, bool *entered, struct err *err)
{
	CLEANUP(close_at_exit) int ns = -1;

	*entered = !proc_same_ns(in->proc, "user");
	if (!*entered)
		return 0;
	ns = openat(proc_dirfd(in->proc), "ns/user", O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWUSER) < 0)
		return err_set(err, -errno,
			       "the JVM has its own user namespace, which cannot be entered (%m): "
			       "run jsampler as root of the host, or inside");
	return 0;
}

/*
 * The JVM asks the kernel for its peer's effective ids, which must be its own (some JVMs accept root as well). The real
 * and the saved uid decide who may signal this process: with those of nobody else, the target cannot stop it. A user
 * namespace may not have such an id, and its root may signal everything in it.
 */
static int set_ids(const struct proc_status *st, bool entered)
{
	const uid_t other = unused_id();

	if (setresgid(st->egid, st->egid, st->egid) < 0)
		return -1;
	if (!entered && setresuid(other, st->euid, other) == 0)
		return 0;
	return setresuid(st->euid, st->euid, st->euid);
}

/* In another user namespace root is "nobody", and so may the JVM's user be: equal numbers prove nothing there. */
static int become(struct attach_child *in, bool entered, struct err *err)
{
	const struct proc_status *st = &in->st;

	if (!entered && st->euid == geteuid() && st->egid == getegid())
		return 0;
	/* User namespaces may refuse setgroups(2); the groups then stay as they are. */
	if ((setgroups(0, NULL) < 0 && errno != EPERM) || set_ids(st, entered) < 0)
		return err_set(err, -errno,
			       "cannot become the JVM's user %u (%m): only that user and root "
			       "may attach",
			       (unsigned)st->euid);
	return 0;
}

int attach_child_enter(struct proc *proc, int parent, struct attach_child *in, struct err *err)
{
	bool entered;
	int r;

	*in = (struct attach_child){.proc = proc, .root = -1, .parent = parent};
	in->root = openat(proc_dirfd(proc), "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in->root < 0 && (errno == ENOENT || errno == ESRCH))
		return err_set(err, -ESRCH, "the JVM ended");
	if (in->root < 0)
		return err_set(err, -errno, "cannot open the root directory of process %d: %m", (int)proc_pid(proc));
	r = enter_user_namespace(in, &entered, err);
	if (r < 0)
		return r;
	r = proc_status(proc, &in->st);
	if (r < 0)
		return err_set(err, r, "the JVM ended");
	r = become(in, entered, err);
	return r < 0 ? r : confine_to_target(err);
}

void attach_child_leave(struct attach_child *in)
{
	if (in->root >= 0)
		close(in->root);
	in->root = -1;
}

int attach_child_wait(struct attach_child *in, int fd, short events, int ms)
{
	struct pollfd p[] = {{.fd = fd, .events = events}, {.fd = in->parent, .events = POLLRDHUP}};
	int r = poll(p, 2, ms);

	if (r > 0 && p[1].revents)
		return -ECANCELED;
	return r > 0;
}

static char state_of(struct attach_child *in)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct proc_stat stat;
	size_t len;

	if (!proc_alive(in->proc) || proc_read(in->proc, "stat", MAX_STAT, &text, &len) < 0 ||
	    proc_stat_parse(text, &stat) < 0)
		return 'X';
	return stat.state;
}

/*
 * The JVM catches SIGQUIT a moment before it is ready to look for the attach trigger; its service thread starts after
 * that (src/hotspot/share/runtime/threads.cpp, JDK 11 to 25). JDK 8 does not name its threads: there, that the signal
 * is caught is all that can be checked.
 */
static bool past_start(struct attach_child *in)
{
	CLEANUP(free_at_exit) pid_t *tids = NULL;
	bool names = false;
	char comm[64];
	size_t n = 0;

	if (!(in->st.sig_caught >> (SIGQUIT - 1) & 1) || proc_tasks(in->proc, &tids, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (proc_comm(in->proc, tids[i], comm, sizeof(comm)) < 0)
			continue;
		if (strcmp(comm, "Service Thread") == 0)
			return true;
		names |= strncmp(comm, "Signal ", 7) == 0;
	}
	return !names;
}

int attach_child_check_running(struct attach_child *in, struct err *err)
{
	char state = state_of(in);

	if (state == 'X' || proc_status(in->proc, &in->st) < 0)
		return err_set(err, -ESRCH, "the JVM ended");
	if (state == 'T' || state == 't')
		return err_set(err, -EAGAIN, "the JVM is stopped: continue it first (kill -CONT %d)",
			       (int)proc_pid(in->proc));
	return 0;
}

int attach_child_wait_started(struct attach_child *in, struct err *err)
{
	for (int ms = 0;; ms += ATTACH_POLL_MS) {
		int r = attach_child_check_running(in, err);

		if (r < 0 || past_start(in))
			return r;
		if (ms >= ATTACH_START_MS)
			return err_set(err, -EAGAIN,
				       "SIGQUIT is not caught (the JVM is starting, or runs with "
				       "-Xrs): it would end the JVM, so it is not sent");
		r = attach_child_wait(in, -1, 0, ATTACH_POLL_MS);
		if (r < 0)
			return err_set(err, r, "no one waits for the JVM's answer any more");
	}
}
