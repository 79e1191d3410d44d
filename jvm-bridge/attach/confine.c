#include "jvm-bridge/attach/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "jvm-bridge/attach/confine_calls.h"
#include "symbolizer/base/caps.h"
#include "symbolizer/base/channel.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

/* --- descriptors --- */

struct kept {
	const struct proc *proc;
	int parent;
};

static bool is_kept(const void *ctx, int fd)
{
	const struct kept *k = ctx;

	return fd == k->parent || fd == proc_dirfd(k->proc) || fd == proc_pidfd(k->proc);
}

/* It may outlive its parent, whose output a reader may want to read to the end: do not hold it open. */
static int leave_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	return null < 0 ? -errno : 0;
}

/* --- capabilities --- */

/* Of a root of the target's: a JVM that is root may have its /tmp in a directory of another user's. */
static uint64_t caps_of_root(void)
{
	return cap_bit(CAP_SYS_PTRACE) | cap_bit(CAP_DAC_OVERRIDE);
}

/* Without CAP_SYS_PTRACE all, until it has the target's ids: a root may open only who has no more than itself, ptrace(2). */
static uint64_t caps_for(struct proc *proc)
{
	uint64_t keep =
		cap_bit(CAP_SYS_PTRACE) | cap_bit(CAP_DAC_READ_SEARCH) | cap_bit(CAP_SETUID) | cap_bit(CAP_SETGID);
	struct proc_status st;

	if (!(caps_permitted() & cap_bit(CAP_SYS_PTRACE)))
		return UINT64_MAX;
	if (!proc_same_ns(proc, "user"))
		keep |= cap_bit(CAP_SYS_ADMIN); /* setns(2) */
	if (proc_status(proc, &st) == 0 && st.euid == 0)
		keep |= caps_of_root();
	return keep;
}

static int keep_capabilities(uint64_t keep)
{
	return caps_set(caps_permitted() & keep);
}

int confine_child(struct proc *proc, int parent, struct err *err)
{
	const struct kept kept = {proc, parent};
	int r = leave_stdio();

	if (r < 0)
		return err_set(err, r, "cannot open /dev/null: %s", strerror(-r));
	channel_close_others(is_kept, &kept);
	(void)caps_drop_bounding();
	r = keep_capabilities(caps_for(proc));
	if (r < 0)
		return err_set(err, r, "cannot give up capabilities: %s", strerror(-r));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "cannot set no_new_privs: %m");
	/* That there are no filters here is reported by the parent, which gets none either. */
	r = confine_calls(proc_pid(proc));
	return r == -ENOMEM ? err_set(err, r, "out of memory") : 0;
}

int confine_to_target(struct err *err)
{
	int r = keep_capabilities(geteuid() == 0 ? caps_of_root() : 0);

	return r < 0 ? err_set(err, r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}
