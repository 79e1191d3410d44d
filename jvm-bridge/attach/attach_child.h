#ifndef JS_ATTACH_ATTACH_CHILD_H
#define JS_ATTACH_ATTACH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "symbolizer/target/proc.h"

struct buf;
struct err;

/* Inside attach: what the child process does, as the target's user, in the target's root. */
struct attach_child {
	struct proc *proc;
	int root; /* O_PATH of its root directory */
	int parent; /* the socket to the parent, borrowed */
	struct proc_status st; /* ids as seen in its user namespace */
};

enum {
	ATTACH_START_MS = 10000, /* for a JVM that is still starting */
	ATTACH_WAIT_MS = 10000, /* for the listener, and for a whole answer: a JVM in a long safepoint is late */
	ATTACH_POLL_MS = 20,
	ATTACH_MAX_ANSWER = 64 << 20,
};

/* attach_child.c */
int attach_child_enter(struct proc *proc, int parent, struct attach_child *in, struct err *err);
void attach_child_leave(struct attach_child *in);
/*
 * Waits up to `ms` for `events` on fd; with a negative fd, just waits. 1: ready; 0: timeout; -ECANCELED: the parent
 * has ended, or no longer wants the answer.
 */
int attach_child_wait(struct attach_child *in, int fd, short events, int ms);
int attach_child_check_running(struct attach_child *in, struct err *err); /* -errno: stopped, or ended */
/* Waits until SIGQUIT can do no harm; -errno if that does not happen. */
int attach_child_wait_started(struct attach_child *in, struct err *err);

/* listener.c: connects to the JVM's listener; if there is none, starts it if `wake`, otherwise -ENOENT. */
int listener_connect(struct attach_child *in, bool wake, struct err *err);
/* Sends a command over *fd (which may be replaced by another connection) and reads the whole answer. */
int listener_talk(struct attach_child *in, int *fd, const char *command, const char *const *args, size_t n,
		  struct buf *answer, struct err *err);

/* library.c: the file as this program sees it, read while it still has its own rights. */
struct library {
	const char *path; /* borrowed */
	char *bytes;
	size_t len;
	struct stat st;
};
struct attach_task;
int library_read(struct proc *proc, const struct attach_task *t, struct library *ret, struct err *err);
void library_done(struct library *lib);

/* place.c: files for the target. */
struct placed {
	int dir; /* O_PATH; -1: nothing was created */
	char name[64];
	char path[4096]; /* as the target sees it */
};
int place_library(struct attach_child *in, const struct library *lib, struct placed *ret, struct err *err);
int place_socket(struct attach_child *in, struct placed *ret, int *ret_fd, struct err *err);
void place_remove(struct placed *p);

/* load.c: loads `lib`, or what the JVM has already loaded from the path `loaded`. */
int attach_child_load(struct attach_child *in, bool wake, const char *loaded, const struct library *lib, int *ret_fd,
		      int *ret_code, struct err *err);

#endif
