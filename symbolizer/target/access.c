#include "symbolizer/target/access.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/kernel_setting.h"
#include "symbolizer/target/own_rights.h"
#include "symbolizer/target/proc.h"

/*
 * Files in the /proc directory of a process that is not dumpable belong to root: task_dump_owner() in
 * linux/fs/proc/base.c.
 */
static bool not_dumpable(struct proc *p, uid_t euid)
{
	struct stat st;

	return euid != 0 && fstatat(proc_dirfd(p), "stat", &st, 0) == 0 && st.st_uid != euid;
}

/* Root may lack capabilities, as in containers; if not, another user namespace or a security module is the reason. */
static int explain_to_root(struct proc *p, uid_t user, int code, struct err *err)
{
	struct own_rights me = own_rights();
	const char *missing = !own_cap(&me, CAP_SYS_PTRACE)      ? "CAP_SYS_PTRACE" :
			      !own_cap(&me, CAP_DAC_READ_SEARCH) ? "CAP_DAC_READ_SEARCH" :
								   NULL;

	if (missing)
		return err_set(err, code,
			       "PID %d (user %u) may not be read: jsampler runs as root, but lacks %s; run it %son "
			       "the host with all capabilities (container: --cap-add)",
			       (int)proc_pid(p), (unsigned)user, missing, user ? "as that user, or " : "");
	return err_set(
		err, code,
		"PID %d (user %u) may not be read, although jsampler has the capabilities for it here: it belongs to "
		"another user namespace, or a security module forbids it; run jsampler on the host",
		(int)proc_pid(p), (unsigned)user);
}

static int has_ended(struct proc *p, struct err *err)
{
	return err_set(err, -ESRCH, "process %d has ended", (int)proc_pid(p));
}

static int explain(struct proc *p, int code, struct err *err)
{
	struct proc_status s = {.euid = (uid_t)-1};
	int pid = (int)proc_pid(p), scope;

	if (deputy())
		return err_set(err, code,
			       "PID %d may not be read: it has other rights than the process that was chosen", pid);
	if (proc_status(p, &s) < 0)
		return err_set(err, code, "PID %d may not be read: run jsampler as root", pid);
	scope = (int)kernel_setting("yama/ptrace_scope", 0);
	if (geteuid() == 0 && scope < 3)
		return explain_to_root(p, s.euid, code, err);
	if (s.euid != geteuid() && geteuid() != 0)
		return err_set(err, code, "PID %d belongs to user %u: sample it as that user, or as root", pid,
			       (unsigned)s.euid);
	if (not_dumpable(p, s.euid))
		return err_set(err, code,
			       "PID %d may be read by root only: it is not dumpable (it changed its user, is "
			       "setuid, or asked for that with prctl); run jsampler as root",
			       pid);
	if (scope > 0)
		return err_set(err, code,
			       "PID %d may not be read: kernel.yama.ptrace_scope is %d; run jsampler as root, "
			       "start the program with 'jsampler -- COMMAND', or: sysctl "
			       "kernel.yama.ptrace_scope=0",
			       pid, scope);
	return err_set(err, code,
		       "PID %d may not be read, though it is of the same user: it has capabilities that "
		       "jsampler lacks, or a security module forbids it; run jsampler as root",
		       pid);
}

/* The files of an ending process belong to root, too. So check that last, or it would be reported as protected. */
int access_explain(struct proc *p, int code, struct err *err)
{
	int r = explain(p, code, err);

	return proc_gone(p) ? has_ended(p, err) : r;
}
