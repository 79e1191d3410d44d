#include "symbolizer/target/proc_owner.h"

#include <errno.h>
#include <sys/stat.h>

#include "symbolizer/target/proc.h"

static bool belongs_to(struct proc *p, uid_t uid)
{
	struct stat st;

	return fstatat(proc_dirfd(p), "stat", &st, 0) == 0 && st.st_uid == uid;
}

bool proc_is_roots(struct proc *p)
{
	return belongs_to(p, 0);
}

bool proc_is_plainly(struct proc *p, const struct proc_owner *then)
{
	return !then->roots && belongs_to(p, then->euid);
}

int proc_owner(struct proc *p, struct proc_owner *ret, struct proc_status *ret_status)
{
	int r = proc_status(p, ret_status);

	if (r == 0)
		*ret = (struct proc_owner){ret_status->uid, ret_status->euid, proc_is_roots(p)};
	return r;
}

int proc_owner_check(struct proc *p, const struct proc_owner *then, struct proc_status *ret_status)
{
	int r = proc_status(p, ret_status);

	if (r < 0 || then->euid == 0)
		return r;
	if (ret_status->uid != then->uid || ret_status->euid != then->euid)
		return -EPERM;
	/* The files of a zombie belong to root, too. */
	return !then->roots && proc_is_roots(p) && proc_alive(p) ? -EPERM : 0;
}
