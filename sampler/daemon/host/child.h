#ifndef JS_HOST_CHILD_H
#define JS_HOST_CHILD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * To be called first in each process of the daemon: sets its name in ps(1), closes descriptors that are not `own`, and
 * unblocks signals.
 */
void child_begin(const char *name, bool (*own)(const void *ctx, int fd), const void *ctx);

/*
 * If the host's memory runs out, this process is to be killed before the others, because targets can make it need much
 * memory.
 */
void child_goes_first(void);

/* Logs that it ended unexpectedly. what: "the process that ..."; status: of waitpid(2). */
void child_say_ended(const char *what, int status, uint64_t delay_ns);

#endif
