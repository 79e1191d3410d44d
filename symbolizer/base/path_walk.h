#ifndef JS_BASE_PATH_WALK_H
#define JS_BASE_PATH_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct err;

/*
 * Where a path leads, found name by name on open directories, so that nothing that is renamed meanwhile leads elsewhere.
 * Symbolic links are followed by these rules, whatever fs.protected_symlinks is (the caller is the effective user):
 *
 * - In a sticky directory that its group or others may write, the caller or the directory's owner must own the link.
 * - In any other, the caller, root, or (unless everybody may write to it) the directory's owner.
 * - A link with a second name is followed only in directories of the caller and root that nobody else may write.
 * - What another user may have put there, his own link, or root's in his directory, leads only to names in directories
 *   that are his, and on the way only through directories that he may search.
 * - On a FUSE file system of an ordinary user's all is that user's, whatever it says.
 * - Who called sudo is another user like all.
 * - /proc/PID/root and the like: of this process; of others only where they are the caller's, who is not root.
 */
struct path_end {
	int dir; /* O_PATH: holds the name; -1: there is none, a link of /proc leads straight to fd or own */
	char name[NAME_MAX + 1]; /* no '/', not "." or ".." */
	int fd; /* O_PATH: what has the name, neither a directory nor a symbolic link; -1: nothing */
	struct stat dir_st, st; /* of dir, of fd */
	int own; /* an open descriptor of this process (/dev/stdout, /proc/self/fd/N); -1 */
};

/*
 * links: may there be any? Without, one gives -ELOOP. 0: the caller ends with path_end_done(), which is also fine
 * after a failure. -EISDIR: a directory, or a name that only a directory can have. -EACCES with a
 * message in *why: a link that is not followed; an empty message: errno says it all.
 */
int path_walk(const char *path, bool links, struct path_end *ret, struct err *why);
void path_end_done(struct path_end *end);

/* Sticky, and its group or others may write: each may put names there, and nobody take away another's. */
bool path_dir_shared(const struct stat *dir);
/* May others than the caller and root, and the group of a directory of theirs, have put there what is in it? */
bool path_dir_foreign(const struct stat *dir);

#endif
