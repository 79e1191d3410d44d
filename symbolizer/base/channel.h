#ifndef JS_BASE_CHANNEL_H
#define JS_BASE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Messages of a fixed size, each with a few descriptors, between processes of this program (SOCK_SEQPACKET, so a
 * message arrives whole or not at all). The other end may have been taken over: a message of another size, or with
 * descriptors that were not asked for, is refused, and its descriptors are closed.
 */
enum { CHANNEL_FDS_MAX = 16 }; /* of one message; Linux allows 253 (SCM_MAX_FD) */

/* ret[0], ret[1]: the two ends, closed on execve(2). 0 or -errno. */
int channel_pair(int ret[2]);

/*
 * Starts a process that calls `run` with its end of a channel, and exits with status 0 when `run` returns. *ret_socket
 * is the caller's end. 0 or -errno; on failure, nothing was started and *ret_socket is -1.
 */
int channel_start(void (*run)(void *ctx, int socket), void *ctx, int *ret_socket, pid_t *ret_child);

/*
 * For such a child that must survive a Ctrl-C: blocks SIGINT, SIGTERM and SIGHUP, redirects stdout and stderr to
 * /dev/null, since whoever reads them waits until every writer has closed them, and closes the descriptors that are not
 * `own` (NULL: none).
 */
void channel_stay_behind(bool (*own)(const void *ctx, int fd), const void *ctx);

/* Closes the descriptors of this process that are not `own`. */
void channel_close_others(bool (*own)(const void *ctx, int fd), const void *ctx);

/*
 * For such a child: when its parent `other` ends, shuts down the channel, even if another process that the parent left
 * behind has a copy of its end, and ends this process soon after. A thread does this, with the privileges that the
 * caller has now. 0 or -errno.
 */
int channel_end_with(int socket, pid_t other);

/* Closes this end for all processes that have a copy of it, such as one that was left behind. -1: not open. */
void channel_close(int socket);

/* Closes this end, which makes the process end, and waits for it. -1, 0: never started. */
void channel_end(int socket, pid_t child);

/* The same, but waits for limit_ms at most: the process may hang in a target's file. */
void channel_end_soon(int socket, pid_t child, int limit_ms);

/* Waits for the end of a child, for limit_ms at most. false: it goes on. */
bool channel_child_ends(pid_t child, int limit_ms);

/* fd: passed along, but stays the caller's; -1: none. 0 or -errno; -EPIPE: the other end is closed. */
int channel_send(int socket, const void *message, size_t size, int fd);

/*
 * Waits. *ret_fd: the message's descriptor, which becomes the caller's; -1: none. If ret_fd is NULL, descriptors are
 * refused. 0 or -errno; -EPIPE: the other end is closed; -EPROTO: not a valid message.
 */
int channel_receive(int socket, void *ret, size_t size, int *ret_fd);

/* The same with `n` descriptors, at most CHANNEL_FDS_MAX. */
int channel_send_fds(int socket, const void *message, size_t size, const int *fds, size_t n);

/* The same with up to `max` descriptors, at most CHANNEL_FDS_MAX. *ret_n: how many came; 0 on failure. */
int channel_receive_fds(int socket, void *ret, size_t size, int *fds, size_t max, size_t *ret_n);

#endif
