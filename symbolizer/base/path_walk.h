#ifndef JS_BASE_PATH_WALK_H
#define JS_BASE_PATH_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct err;

/*
 * Where a path leads, resolved one component at a time on open directories, so that renaming something in the meantime
 * cannot lead it elsewhere. Symbolic links are followed by these rules, whatever fs.protected_symlinks is (the caller is
 * the effective user):
 *
 * - In a sticky directory that its group or others may write, the link must belong to the caller or the directory's owner.
 * - In any other directory, to the caller, root, or (unless everybody may write to the directory) the directory's owner.
 * - A link with a second name is followed only in directories of the caller and root that nobody else may write.
 * - A link that another user may have put there (one of that user, or one of root in that user's directory) leads only
 *   to names in directories of that user, and only through directories that the user may search.
 * - On a FUSE file system that an ordinary user mounted, everything belongs to that user, whatever it claims.
 * - The user who called sudo is just another user.
 * - /proc/PID/root and the like: only of this process, and for callers other than root, of their own processes.
 */
struct path_end {
	int dir; /* O_PATH: holds the name; -1: none, because a link of /proc leads straight to fd or own */
	char name[NAME_MAX + 1]; /* no '/', not "." or ".." */
	int fd; /* O_PATH: what has the name, neither a directory nor a symbolic link; -1: nothing */
	struct stat dir_st, st; /* of dir, of fd */
	int own; /* an open descriptor of this process (/dev/stdout, /proc/self/fd/N); -1 */
};

/*
 * links: whether to follow links; if not, a link gives -ELOOP. path_end_done() releases *ret (also allowed after
 * a failure). -EISDIR: a directory, or a name that only a directory can have. -EACCES with a message in *why: a link
 * that is not followed. If the message is empty, errno explains the failure.
 */
int path_walk(const char *path, bool links, struct path_end *ret, struct err *why);
void path_end_done(struct path_end *end);

/* Sticky, and its group or others may write: they may add names, but not remove those of others. */
bool path_dir_shared(const struct stat *dir);
/* May anyone other than the caller, root, and the group of a directory of theirs have put names there? */
bool path_dir_foreign(const struct stat *dir);

#endif
