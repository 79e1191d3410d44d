#ifndef JS_HOST_CHILD_H
#define JS_HOST_CHILD_H

#include <stdbool.h>
#include <stdint.h>

/* In a process of the daemon, first: its name in ps(1); descriptors that are not `own` are closed; signals come through again. */
void child_begin(const char *name, bool (*own)(const void *ctx, int fd), const void *ctx);

/* If memory runs out, this process is to go, not the others: what targets make it need is a lot, all together. */
void child_goes_first(void);

/* Logs that it ended unexpectedly. what: "the process that ..."; status: of waitpid(2). */
void child_say_ended(const char *what, int status, uint64_t delay_ns);

#endif
