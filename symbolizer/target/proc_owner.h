#ifndef JS_TARGET_PROC_OWNER_H
#define JS_TARGET_PROC_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

struct proc;
struct proc_status;

/*
 * Who owns a process. By execve(2), a user's process may run a program that has more rights. Whoever was allowed to
 * read the process before is not necessarily allowed to read it then.
 */
struct proc_owner {
	uid_t uid, euid; /* real, effective */
	bool roots; /* its files in /proc belong to root */
};

int proc_owner(struct proc *p, struct proc_owner *ret, struct proc_status *ret_status); /* 0 or -errno */

/*
 * 0: it has no more rights than `then`; a process that belonged to root may have any ids. -EPERM: it has other ids, or
 * rights that its user does not have. Another -errno: they cannot be read. ret_status: its present ids; set in all
 * cases but the last.
 */
int proc_owner_check(struct proc *p, const struct proc_owner *then, struct proc_status *ret_status);

/*
 * Do its files belong to root? They do if the process is root's, or if execve(2) gave it rights that its user does not
 * have (task_dump_owner() in linux/fs/proc/base.c). This also shows set-group-ID programs and those with file
 * capabilities, which the ids do not show.
 */
bool proc_is_roots(struct proc *p);

/* Do its files belong to its user? Then it has no other rights. This costs a tenth of reading `status`. */
bool proc_is_plainly(struct proc *p, const struct proc_owner *then);

#endif
