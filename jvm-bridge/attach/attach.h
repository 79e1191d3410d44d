#ifndef JS_ATTACH_ATTACH_H
#define JS_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct proc;

/*
 * A client of HotSpot's attach protocol (protocol.h). It works in a child process of its own, started while this
 * program still has its privileges and has not parsed anything, so that callers need no privileges. The child learns at
 * its start what it will do; a caller that is taken over later can only tell it to begin. It gives up what that does not
 * take (confine.h), enters the target's user namespace, takes its user and group id, and reaches its files through its
 * root directory. It cleans up even if its parent was killed meanwhile, and exits. When nobody waits for the answer any
 * more it exits at once, unless it has signalled a JVM that has not yet opened its listener; then it waits for that
 * (ATTACH_WAIT_MS at most).
 *
 * It sends SIGQUIT only to a JVM that catches it, has finished starting and is not stopped, and only if the caller
 * set `wake`: the caller must have checked that attaching is not disabled (-XX:+DisableAttachMechanism).
 */
struct attach;

/* One of `command`, `library` and `loaded`. */
struct attach_task {
	const char *command; /* without arguments: "threaddump", "properties", ... */
	/*
	 * An agent: path as this program sees it; the musl build is used if the target runs on musl (NULL: one build for
	 * both). If the target does not have that same file at that path, it gets a copy for as long as loading takes,
	 * named by its content so that loading it again finds the one already mapped.
	 */
	const char *library, *musl_library;
	const char *loaded; /* an agent that the JVM has already loaded, by its path in /proc/PID/maps */
};

/* Call while single-threaded. The task's strings must stay until this returns. 0 or -errno. */
int attach_start(struct proc *proc, const struct attach_task *task, struct attach **ret, struct err *err);
void attach_stop(struct attach *a); /* NULL is allowed */
/* Makes attach_ask() or attach_load() in another thread return an error. NULL is allowed. */
void attach_cancel(struct attach *a);
/* How long to wait for the answer, counted from the question. The child may continue until attach_stop(). */
void attach_set_patience(struct attach *a, unsigned ms);

/*
 * Sends the task's command, once. *ret is the answer's text, NUL-terminated, maybe empty, owned by the caller. Without
 * `wake`, -ENOENT if the JVM has no listener yet.
 */
int attach_ask(struct attach *a, bool wake, char **ret, size_t *ret_len, struct err *err);

/*
 * Loads the task's agent, once, with "stream=PATH", PATH being a socket in the target's root, and waits until the target
 * (no other process) connects to it. *ret_fd: that connection, owned by the caller. *ret_code: what Agent_OnAttach
 * returned if not 0 (the result is then -EREMOTEIO), otherwise 0. Leaves nothing in the file system.
 */
int attach_load(struct attach *a, bool wake, int *ret_fd, int *ret_code, struct err *err);

#endif
