#ifndef JS_ATTACH_ATTACH_H
#define JS_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct proc;

/*
 * A client of HotSpot's attach protocol (hotspot.md 12). It works in a child process of its own,
 * started while this program still has its privileges and does not parse anything, so that whoever
 * asks it needs none. The child enters the target's user namespace, takes its user and group id, and
 * reaches its files through its root directory. It serves one request, cleans up after itself even
 * when its parent was killed meanwhile, and ends. When nobody waits for the answer any more it ends at
 * once, but for a JVM that was signalled and is late to open its listener (ATTACH_WAIT_MS at most).
 *
 * It sends SIGQUIT only to a JVM that catches it, is past its start, is not stopped, and whose
 * caller said `wake`: made sure that attaching is not switched off (-XX:+DisableAttachMechanism).
 */
struct attach;

int attach_start(struct proc *proc, struct attach **ret, struct err *err);
void attach_stop(struct attach *a); /* NULL is fine */
/* Ends what another thread waits for in attach_ask() or attach_load(), with an error. NULL is fine. */
void attach_cancel(struct attach *a);
/* How long to wait for the answer to a request, from then on. The child goes on after that, until attach_stop(). */
void attach_set_patience(struct attach *a, unsigned ms);

/*
 * The text of a command without arguments ("threaddump", "properties", ...), NUL-terminated and maybe empty; *ret is
 * the caller's.
 * Without `wake` -ENOENT where there is no listener yet.
 */
int attach_ask(struct attach *a, const char *command, bool wake, char **ret, size_t *ret_len, struct err *err);

struct attach_load {
	bool wake;
	/* The library as this program sees it; the musl one is taken where the target runs on musl (NULL:
	 * the same). Where the target does not have that very file at that very path, it gets a copy, for as
	 * long as loading takes, named by its content so that loading it again finds what is mapped. */
	const char *library, *musl_library;
	/* Instead of both: one that the JVM has loaded, by the path that it was loaded from. */
	const char *loaded;
};

/*
 * Loads an agent with "stream=PATH", PATH being a socket in the target's root, and waits until the
 * target (no other process) connects to it. *ret_fd: that connection, the caller's. *ret_code: what
 * Agent_OnAttach returned (-EREMOTEIO unless 0), else 0. Nothing of it stays in the file system.
 */
int attach_load(struct attach *a, const struct attach_load *l, int *ret_fd, int *ret_code, struct err *err);

#endif
