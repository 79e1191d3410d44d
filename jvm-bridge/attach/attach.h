#ifndef JS_ATTACH_ATTACH_H
#define JS_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct proc;

/*
 * A client of HotSpot's attach protocol (protocol.h). It works in a child process of its own, started while this
 * program still has its privileges and has not parsed anything, so that callers need no privileges. The child enters
 * the target's user namespace, takes its user and group id, and reaches its files through its root directory. It
 * serves one request, cleans up even if its parent was killed meanwhile, and exits. When nobody waits for the answer
 * any more it exits at once, unless it has signalled a JVM that has not yet opened its listener; then it waits for
 * that (ATTACH_WAIT_MS at most).
 *
 * It sends SIGQUIT only to a JVM that catches it, has finished starting and is not stopped, and only if the caller
 * set `wake`: the caller must have checked that attaching is not disabled (-XX:+DisableAttachMechanism).
 */
struct attach;

int attach_start(struct proc *proc, struct attach **ret, struct err *err);
void attach_stop(struct attach *a); /* NULL is allowed */
/* Makes attach_ask() or attach_load() in another thread return an error. NULL is allowed. */
void attach_cancel(struct attach *a);
/* How long to wait for a request's answer, counted from then. The child may continue until attach_stop(). */
void attach_set_patience(struct attach *a, unsigned ms);

/*
 * Sends a command without arguments ("threaddump", "properties", ...). *ret is the answer's text, NUL-terminated,
 * maybe empty, owned by the caller. Without `wake`, -ENOENT if the JVM has no listener yet.
 */
int attach_ask(struct attach *a, const char *command, bool wake, char **ret, size_t *ret_len, struct err *err);

struct attach_load {
	bool wake;
	/*
	 * Path as this program sees it; the musl build is used if the target runs on musl (NULL: one build for both).
	 * If the target does not have that same file at that path, it gets a copy for as long as loading takes, named
	 * by its content so that loading it again finds the one already mapped.
	 */
	const char *library, *musl_library;
	/* Instead of both: a library that the JVM has already loaded, by the path it was loaded from. */
	const char *loaded;
};

/*
 * Loads an agent with "stream=PATH", PATH being a socket in the target's root, and waits until the target (no other
 * process) connects to it. *ret_fd: that connection, owned by the caller. *ret_code: what Agent_OnAttach returned if
 * not 0 (the result is then -EREMOTEIO), otherwise 0. Leaves nothing in the file system.
 */
int attach_load(struct attach *a, const struct attach_load *l, int *ret_fd, int *ret_code, struct err *err);

#endif
