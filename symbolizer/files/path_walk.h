#ifndef JS_BASE_PATH_WALK_H
#define JS_BASE_PATH_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct err;

/*
 * Where a path leads, resolved component by component on open directories, so that renaming something meanwhile cannot
 * lead it elsewhere. Symbolic links are followed by these rules, whatever fs.protected_symlinks is (the caller is the
 * effective user):
 *
 * - In a sticky directory that its group or others may write, the link must belong to the caller or the directory's
 *   owner.
 * - In any other directory, it must belong to the caller, root, or (unless everybody may write to the directory) the
 *   directory's owner.
 * - A link with a second name is followed only in directories of the caller and root that nobody else may write.
 * - A link that another user may have put there (a link of that user, or one of root in that user's directory) may lead
 *   only to names in directories of that user, and only through directories that the user may search.
 * - On a FUSE file system that an ordinary user mounted, everything belongs to that user, whatever it claims.
 * - The user who called sudo is just another user.
 * - Links of /proc/PID, such as root, are followed only for this process or, if the caller is not root, for the
 *   caller's own processes.
 */
struct path_end {
	int dir; /* O_PATH: the directory of the name; -1: none, because a link of /proc led straight to fd or own */
	char name[NAME_MAX + 1]; /* no '/', not "." or ".." */
	int fd; /* O_PATH: the file with that name, neither a directory nor a symbolic link; -1: there is none */
	struct stat dir_st, st; /* of dir, of fd */
	int own; /* an open descriptor of this process (/dev/stdout, /proc/self/fd/N); -1: another path */
};

/*
 * links: whether to follow links; if not, a link gives -ELOOP. path_end_done() releases *ret (also allowed after a
 * failure). -EISDIR: a directory, or a path that can only name one. -EACCES with a message in *why: a link that is not
 * followed. If the message is empty, errno explains the failure.
 */
int path_walk(const char *path, bool links, struct path_end *ret, struct err *why);
void path_end_done(struct path_end *end);

/* Sticky, and writable by its group or others: they may add names, but not remove those of others. */
bool path_dir_shared(const struct stat *dir);
/* Could anyone other than the caller, root, or the group of a directory owned by one of them have put names there? */
bool path_dir_foreign(const struct stat *dir);

#endif
