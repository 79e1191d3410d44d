#ifndef JS_BASE_CHANNEL_H
#define JS_BASE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Messages of a fixed size, each with at most one descriptor, between processes of this program (SOCK_SEQPACKET, so a message
 * comes whole or not at all). The other end may have been taken over: what does not have exactly the expected size, or brings
 * descriptors that were not asked for, is refused, and its descriptors are closed.
 */

/* ret[0], ret[1]: the two ends, closed on execve(2). 0 or -errno. */
int channel_pair(int ret[2]);

/*
 * Starts a process that runs `run` with its end of a channel, and exits with status 0 when that returns. *ret_socket is the
 * caller's end. 0 or -errno, with nothing started and *ret_socket -1.
 */
int channel_start(void (*run)(void *ctx, int socket), void *ctx, int *ret_socket, pid_t *ret_child);

/*
 * In such a child, if it is to outlast a Ctrl-C: blocks SIGINT, SIGTERM and SIGHUP, has /dev/null as stdout and stderr, whose
 * readers wait for all who could write, and closes what is not `own` (NULL: nothing).
 */
void channel_stay_behind(bool (*own)(const void *ctx, int fd), const void *ctx);

/* Closes the descriptors of this process that are not `own`. */
void channel_close_others(bool (*own)(const void *ctx, int fd), const void *ctx);

/*
 * In such a child: once `other`, its parent, has ended, the channel is closed, even if a process that the parent left behind
 * has a copy of its end, and this process ends soon after. In a thread, which has the rights that the caller has now.
 * 0 or -errno.
 */
int channel_end_with(int socket, pid_t other);

/* Closes this end, which is to end the process, and waits for that. -1, 0: never started. */
void channel_end(int socket, pid_t child);

/* fd: passed along; -1: none. It stays the caller's. 0 or -errno; -EPIPE: the other end is closed. */
int channel_send(int socket, const void *message, size_t size, int fd);

/*
 * Waits. ret_fd: NULL: a descriptor is refused; else it is the caller's, -1 where there is none.
 * 0 or -errno; -EPIPE: the other end is closed; -EPROTO: not such a message.
 */
int channel_receive(int socket, void *ret, size_t size, int *ret_fd);

#endif
