#ifndef JS_CLI_INTERRUPT_H
#define JS_CLI_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/*
 * Effects of SIGINT, SIGTERM and SIGHUP on a recording. A thread without privileges waits for them, so that they take
 * effect even while the main thread is busy with something that a hostile target made.
 *
 * opening       the first ends the program (before interrupt_start(), by default action)
 * sampling      the first ends sampling: what was sampled is named and written
 * finishing     the first ends naming: the rest is written without names
 * at any time   the second ends the program, and nothing more is written
 *
 * While a command started by jsampler is being sampled, the signals are for the command: SIGINT reaches it from the
 * terminal, the other two are passed on. An ignored SIGHUP (nohup) stays ignored.
 */
enum interrupt_phase { INTERRUPT_OPENING, INTERRUPT_SAMPLING, INTERRUPT_FINISHING, INTERRUPT_WAITING };

/*
 * Blocks the signals, also in threads started later. Call once, after the program has dropped its privileges and
 * before it has another thread; until then a signal ends the program. closed: there are no privileges left to drop.
 */
int interrupt_start(bool closed, struct err *err);
void interrupt_set_phase(enum interrupt_phase phase);
/* The command being sampled, and how to send it a signal (NULL: kill(2)). pid 0: none. */
void interrupt_set_command(pid_t pid, int (*send)(void *ctx, int signal), void *ctx);

/* Becomes readable when sampling should end. */
int interrupt_fd(void);
/*
 * The thread calls `end` when naming should end, or at once if that was requested before. With NULL, nothing is
 * called any more, and `end` is not running when this returns.
 */
void interrupt_set_naming(void (*end)(void *ctx), void *ctx);

#endif
