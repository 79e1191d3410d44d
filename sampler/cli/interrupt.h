#ifndef JS_CLI_INTERRUPT_H
#define JS_CLI_INTERRUPT_H

#include <sys/types.h>

struct err;

/*
 * What SIGINT, SIGTERM and SIGHUP do to a recording, whatever it is at: a thread of its own, without any
 * privilege, waits for them, so that they count even while the main one is busy with what a hostile target made.
 *
 *	opening            the first ends the program
 *	sampling           the first ends sampling: what was sampled is named and written
 *	finishing          the first ends naming: what has no name yet is written without
 *	the second, always ends the program, and nothing more is written
 *
 * A command that is sampled has the signals to itself while it runs and is sampled: SIGINT comes to it from the
 * terminal, the other two are handed on. A SIGHUP that is ignored (nohup) stays ignored.
 */
enum interrupt_phase { INTERRUPT_OPENING, INTERRUPT_SAMPLING, INTERRUPT_FINISHING, INTERRUPT_WAITING };

/* Blocks the signals, for threads that are started later too. Once, before any other thread is there. */
int interrupt_start(struct err *err);
void interrupt_set_phase(enum interrupt_phase phase);
/* The command that is sampled; 0: none. */
void interrupt_set_command(pid_t pid);

/* Becomes readable when sampling is to end. */
int interrupt_fd(void);
/* Called by the thread when naming is to end, and at once where that is wanted already. NULL: nothing any more, and it
 * is not running when this returns. */
void interrupt_set_naming(void (*end)(void *ctx), void *ctx);

#endif
