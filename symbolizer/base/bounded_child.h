#ifndef JS_BASE_BOUNDED_CHILD_H
#define JS_BASE_BOUNDED_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A child process for work on hostile input. It may crash, loop, allocate without limit, be taken over, or block in a
 * read that not even SIGKILL interrupts (memory whose pages a FUSE daemon withholds); none of that holds up the caller.
 * The child has /dev/null as stdin, stdout and stderr, dumps no core, and does not outlive its parent: if the main
 * thread started it, the kernel sends it SIGKILL, otherwise it sees its socket closed. Not thread-safe.
 */
struct bounded_child {
	pid_t pid; /* 0: none */
	int fd; /* the caller's end of a stream socket pair; data read from it is untrusted */
};

struct bounded_limits {
	uint64_t bytes; /* that the child may allocate beyond what the caller has allocated; UINT64_MAX: no limit */
	uint64_t cpu_ns; /* CPU time, rounded up by a second or two; UINT64_MAX: no limit */
};

/* The child's main function. When it returns, the child exits with status 0. `fd` is its end of the socket pair. */
typedef void bounded_main(void *ctx, int fd);

/* Opens files that children need, before a system call filter forbids it. */
void bounded_child_prepare(void);

/* 0 or -errno. */
int bounded_child_start(struct bounded_child *c, const struct bounded_limits *l, bounded_main *run, void *ctx);

/*
 * Ends the child, if there is one, and closes the socket. *ret_status (may be NULL) is set as by waitpid(2), and shows
 * how the child ended if it ended by itself. false: the child could not be ended and was left behind; this was logged.
 */
bool bounded_child_end(struct bounded_child *c, int *ret_status);

#endif
