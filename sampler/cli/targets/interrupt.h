#ifndef JS_CLI_INTERRUPT_H
#define JS_CLI_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/*
 * What SIGINT, SIGTERM and SIGHUP do to a recording. A thread without privileges waits for them, so that they take
 * effect even while the main thread is busy with something that a hostile target made.
 *
 *	opening       the first ends the program (before interrupt_start(), by itself)
 *	sampling      the first ends sampling: what was sampled is named and written
 *	finishing     the first ends naming: what has no name yet is written without one
 *	at any time   the second ends the program, and nothing more is written
 *
 * While a command that was started here is being sampled, the signals are for the command: SIGINT reaches it from the
 * terminal, the other two are passed on. A SIGHUP that is ignored (nohup) stays ignored.
 */
enum interrupt_phase { INTERRUPT_OPENING, INTERRUPT_SAMPLING, INTERRUPT_FINISHING, INTERRUPT_WAITING };

/*
 * Blocks the signals, also in threads started later. Call it once, when the program has given up its privileges, and
 * before there is any other thread; until then a signal ends the program. closed: there is nothing left to give up.
 */
int interrupt_start(bool closed, struct err *err);
void interrupt_set_phase(enum interrupt_phase phase);
/* The command that is sampled, and how it is sent a signal (NULL: kill(2)). pid 0: none. */
void interrupt_set_command(pid_t pid, int (*send)(void *ctx, int signal), void *ctx);

/* Becomes readable when sampling should end. */
int interrupt_fd(void);
/*
 * The thread calls `end` when naming should end; at once if that was already requested. With NULL,
 * nothing is called any more, and `end` is not running when this returns.
 */
void interrupt_set_naming(void (*end)(void *ctx), void *ctx);

#endif
