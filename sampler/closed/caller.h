#ifndef JS_CLOSED_CALLER_H
#define JS_CLOSED_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

struct ids {
	uid_t uid;
	gid_t gid;
};

/*
 * The IDs that root takes on for parsing: those of the user who called sudo. False: there is none.
 *
 * The environment is not trusted. sudo_uid (SUDO_UID; NULL: not set) counts only if it is the real uid of the nearest
 * ancestor that does not belong to root, according to /proc; the gid is that of the nearest ancestor with this uid
 * whose group is not root's. `proc`: a descriptor of /proc, or of a test's substitute. `pid`: the process whose
 * ancestors are looked at.
 */
bool caller_ids(int proc, pid_t pid, const char *sudo_uid, struct ids *ret);

#endif
