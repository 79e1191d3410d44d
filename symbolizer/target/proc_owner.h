#ifndef JS_TARGET_PROC_OWNER_H
#define JS_TARGET_PROC_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

struct proc;
struct proc_status;

/*
 * Whose a process is. A user may let a program of theirs become one with more rights by execve(2); who was allowed to
 * read the first is not thereby allowed to read the second.
 */
struct proc_owner {
	uid_t uid, euid; /* real, effective */
	bool roots; /* its files in /proc belong to root */
};

int proc_owner(struct proc *p, struct proc_owner *ret, struct proc_status *ret_status); /* 0 or -errno */

/*
 * 0: it has no more rights than `then`; what was root's may have any ids. -EPERM: it has other ids, or rights that its
 * user has not. Another -errno: they cannot be read. ret_status: its present ids; set in any case but the last.
 */
int proc_owner_check(struct proc *p, const struct proc_owner *then, struct proc_status *ret_status);

/*
 * Its files belong to root: it is root's, or execve(2) gave it rights that its user has not (task_dump_owner() in
 * linux/fs/proc/base.c): set-group-ID programs and those with file capabilities, which the ids do not show.
 */
bool proc_is_roots(struct proc *p);

/* Its files are its user's, so it has no other rights. A tenth of what reading `status` costs. */
bool proc_is_plainly(struct proc *p, const struct proc_owner *then);

#endif
