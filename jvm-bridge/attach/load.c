#include "jvm-bridge/attach/attach_child.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jvm-bridge/attach/protocol.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"

/* What the loader's messages mean, and what to do about it. */
static const char *hint(const char *why)
{
	if (strstr(why, "failed to map segment") || strstr(why, "Operation not permitted"))
		return "; is it on a file system mounted noexec, or forbidden by SELinux?";
	if (strstr(why, "Error relocating") || strstr(why, "Error loading shared library") || strstr(why, "GLIBC_") ||
	    strstr(why, "libc.musl") || strstr(why, "libc.so: "))
		return "; it is built for another C library than the JVM's";
	if (strstr(why, "wrong ELF class") || strstr(why, "ELFCLASS"))
		return "; it is built for another word size than the JVM's";
	if (strstr(why, "agent loading is not enabled"))
		return "; or load it at the start with -agentpath";
	return "";
}

static int check_answer(const struct buf *b, int *ret_code, struct err *err)
{
	char why[240];
	int r = attach_answer_load(b->data, ret_code, why, sizeof(why));

	if (r == -ENOEXEC)
		return err_set(err, r, "the JVM did not load the bridge: %s%s", why[0] ? why : "it gives no reason",
			       hint(why));
	if (r < 0)
		return err_set(err, r, "the JVM's attach listener gave an invalid answer");
	return *ret_code ? err_set(err, -EREMOTEIO, "the bridge refused to start, code %d", *ret_code) : 0;
}

/* Accepts only the target; others may know the socket's name. */
static int accept_target(struct attach_child *in, int listener, struct err *err)
{
	uint64_t end = clock_monotonic_ns() + ATTACH_WAIT_MS * UINT64_C(1000000);

	while (clock_monotonic_ns() < end && proc_alive(in->proc)) {
		struct ucred peer = {0};
		socklen_t len = sizeof(peer);
		int r = attach_child_wait(in, listener, POLLIN, 100);
		int fd = r > 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

		if (r < 0)
			return err_set(err, r, "no one waits for the bridge any more");
		if (fd < 0)
			continue;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == proc_pid(in->proc) &&
		    proc_alive(in->proc))
			return fd;
		close(fd);
	}
	return err_set(err, -ETIMEDOUT, "the bridge was loaded, but does not connect");
}

/* One attempt. *ret_early: refused because the JVM is still starting. */
static int talk(struct attach_child *in, int *jvm, const char *library, const char *socket, bool *ret_early,
		int *ret_code, struct err *err)
{
	char options[4096 + 16];
	const char *args[] = {library, "true", options};
	struct buf answer = {0};
	int r;

	snprintf(options, sizeof(options), "stream=%s", socket);
	r = listener_talk(in, jvm, "load", args, 3, &answer, err);
	if (r == 0)
		r = check_answer(&answer, ret_code, err);
	*ret_early = r == -ENOEXEC && strstr(answer.data, "only permitted in the live phase");
	buf_done(&answer);
	return r;
}

/* The listener may exist before the JVM accepts agents. One command per connection. */
static int load_placed(struct attach_child *in, int *jvm, const char *library, const char *socket, int *ret_code,
		       struct err *err)
{
	bool early;
	int r = talk(in, jvm, library, socket, &early, ret_code, err);

	for (int ms = 0; r < 0 && early && ms < ATTACH_START_MS; ms += ATTACH_POLL_MS) {
		if (attach_child_wait(in, -1, 0, ATTACH_POLL_MS) < 0)
			return err_set(err, -ECANCELED, "no one waits for the bridge any more");
		close(*jvm);
		*jvm = listener_connect(in, false, err);
		if (*jvm < 0)
			return *jvm;
		r = talk(in, jvm, library, socket, &early, ret_code, err);
	}
	return r;
}

int attach_child_load(struct attach_child *in, bool wake, const char *loaded, const struct library *lib, int *ret_fd,
		      int *ret_code, struct err *err)
{
	CLEANUP(close_at_exit) int jvm = -1, listener = -1;
	struct placed library = {.dir = -1}, sock = {.dir = -1};
	int r = jvm = listener_connect(in, wake, err);

	if (r >= 0 && !loaded)
		r = place_library(in, lib, &library, err);
	if (r >= 0)
		r = place_socket(in, &sock, &listener, err);
	if (r >= 0)
		r = load_placed(in, &jvm, loaded ? loaded : library.path, sock.path, ret_code, err);
	if (r >= 0)
		r = accept_target(in, listener, err);
	place_remove(&library);
	place_remove(&sock);
	if (r < 0)
		return r;
	*ret_fd = r;
	return 0;
}
