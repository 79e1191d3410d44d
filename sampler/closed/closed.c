#include "sampler/closed/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "sampler/closed/caller.h"
#include "sampler/closed/landlock.h"
#include "sampler/closed/system_calls.h"
#include "symbolizer/base/caps.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/unused_id.h"

enum { NOBODY = 65534 }; /* the same in every distribution, and shown by the kernel for IDs that are not mapped */

/* tzset(3) looks for /etc/localtime again at each use, unless TZ says that it is to be this file. */
static void keep_time_zone(void)
{
	setenv("TZ", ":/etc/localtime", 0);
	tzset();
}

static int assume_ids(struct ids to)
{
	return setresgid(to.gid, to.gid, to.gid) < 0 || setresuid(to.uid, to.uid, to.uid) < 0 ? -errno : 0;
}

/* Groups first: without uid 0 they can no longer be changed. */
static int leave_root(void)
{
	CLEANUP(close_at_exit) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uid_t unused = unused_id();
	struct ids caller;
	int r;

	if (setgroups(0, NULL) < 0)
		return -errno;
	if (caller_ids(proc, getpid(), getenv("SUDO_UID"), &caller))
		return assume_ids(caller);
	r = assume_ids((struct ids){unused, unused});
	return r == -EINVAL ? assume_ids((struct ids){NOBODY, NOBODY}) : r; /* a user namespace with few IDs */
}

static bool is_root(void)
{
	uid_t real, effective, saved;

	return getresuid(&real, &effective, &saved) < 0 || !real || !effective || !saved;
}

/* Changing IDs cancels the parent-death signal, see prctl(2). */
static void keep_end(int signal, pid_t parent)
{
	if (signal && (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0 || getppid() != parent))
		_exit(0);
}

/*
 * Gives the process IDs of its own. Without uid 0 the kernel would clear the capabilities. The IDs must be unused: see
 * closed.h.
 */
static int leave_root_tracing(void)
{
	uid_t unused = unused_id();

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0)
		return -errno;
	return assume_ids((struct ids){unused, unused});
}

/* The last step that may fail; what follows is optional, because older kernels lack it. */
static int give_up_capabilities(uint64_t keep, struct err *err)
{
	int r = caps_set(caps_permitted() & keep); /* the ambient set goes with the permitted one */

	if (r < 0)
		return err_set(err, r, "cannot give up capabilities: %s", strerror(-r));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "cannot set no_new_privs: %m");
	return 0;
}

static void close_files(enum closed_work work, int dir, int socket, struct closed_gaps *ret)
{
	int r = landlock_close(dir);

	ret->landlock = r < 0 ? r : 0;
	ret->filter = system_calls_filter(work, socket);
}

int closed_begin(enum closed_work work, int socket, struct closed_gaps *ret, struct err *err)
{
	pid_t parent = getppid();
	int death = 0, r;

	*ret = (struct closed_gaps){0};
	(void)prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
	keep_time_zone();
	(void)caps_drop_bounding();
	if (is_root())
		ret->ids = leave_root();
	keep_end(death, parent);
	r = give_up_capabilities(0, err);
	if (r == 0)
		close_files(work, -1, socket, ret);
	return r;
}

int closed_begin_tracing(int socket, struct closed_gaps *ret, struct err *err)
{
	const uint64_t traces = cap_bit(CAP_SYS_PTRACE);
	bool may_trace = caps_permitted() & traces;
	int r;

	*ret = (struct closed_gaps){.ids = is_root() && !may_trace ? -EPERM : 0};
	(void)caps_drop_bounding();
	if (is_root() && may_trace)
		ret->ids = leave_root_tracing();
	/*
	 * Without that capability, a tracer needs the same IDs as the other process, and all of its capabilities:
	 * ptrace(2).
	 */
	r = give_up_capabilities(may_trace ? traces | cap_bit(CAP_DAC_READ_SEARCH) : UINT64_MAX, err);
	if (r == 0)
		ret->filter = system_calls_filter(CLOSED_TRACING, socket);
	return r;
}

int closed_begin_keeping(int dir, struct closed_gaps *ret, struct err *err)
{
	int r;

	*ret = (struct closed_gaps){.ids = is_root() ? -EPERM : 0};
	keep_time_zone();
	(void)caps_drop_bounding();
	r = give_up_capabilities(0, err);
	if (r == 0)
		close_files(CLOSED_KEEPING, dir, -1, ret);
	return r;
}

struct trial {
	enum closed_work work;
	struct closed_gaps gaps;
	struct err err;
	int result;
};

/* Waits until the other end is closed. */
static void try_in_child(void *ctx, int socket)
{
	struct trial t = *(const struct trial *)ctx;
	CLEANUP(close_at_exit) int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	t.result = t.work == CLOSED_TRACING ? closed_begin_tracing(socket, &t.gaps, &t.err) :
					      closed_begin(t.work, socket, &t.gaps, &t.err);
	if (channel_send(socket, &t, sizeof(t), status) == 0)
		channel_receive(socket, &t, sizeof(t), NULL);
}

int closed_try(enum closed_work work, struct closed_gaps *ret, void (*look)(void *ctx, int status), void *ctx,
	       struct err *err)
{
	struct trial t = {.work = work};
	CLEANUP(close_at_exit) int status = -1;
	pid_t child;
	int socket, r = channel_start(try_in_child, &t, &socket, &child);

	if (r < 0)
		return err_set(err, r, "cannot start a process: %s", strerror(-r));
	r = channel_receive(socket, &t, sizeof(t), &status);
	if (r < 0)
		err_set(err, r, "the process that tries it ended early");
	else if (t.result < 0)
		r = err_set(err, t.result, "%s", t.err.msg);
	if (r == 0 && look)
		look(ctx, status);
	channel_end(socket, child);
	*ret = t.gaps;
	return r;
}

void closed_say_gaps(const struct closed_gaps *g)
{
	if (g->filter)
		log_warn("input is parsed without a filter of system calls, because the kernel or a container refuses "
			 "one (%s): do not read other users' files as root",
			 strerror(-g->filter));
	if (g->landlock)
		log_info("no Landlock here (%s): only the filter of system calls keeps files from being opened",
			 strerror(-g->landlock));
	if (g->ids)
		log_info("cannot take on another user's ids (%s): files are parsed with uid 0, without capabilities",
			 strerror(-g->ids));
}
