#ifndef JS_ENGINE_SUSPEND_TEXT_H
#define JS_ENGINE_SUSPEND_TEXT_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * What the files below /proc/PID/task/TID say (proc(5)), as text that ends in NUL. A thread's name is in some of
 * them, which may be anything. What is not there reads as 0.
 */

/* schedstat. */
struct has_run_account suspend_text_account(const char *text);

/* stat: 'R', 'S', ...; 0: none. */
char suspend_text_state(const char *text);

/* syscall: where a blocked thread is. -EAGAIN: it runs, or there is no sense in it. */
int suspend_text_position(const char *text, struct has_run_set *ret);

/* status: is there a signal that the thread is about to take, or may take? Not told: true. */
bool suspend_text_signalled(const char *text);

/* status: who traces it; 0: nobody. */
pid_t suspend_text_tracer(const char *text);

#endif
