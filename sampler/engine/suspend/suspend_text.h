#ifndef JS_ENGINE_SUSPEND_TEXT_H
#define JS_ENGINE_SUSPEND_TEXT_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * Parsers for the files in /proc/PID/task/TID (proc(5)). Texts are NUL-terminated. Some contain the thread's name,
 * which may be anything. Missing values are 0.
 */

/* schedstat. */
struct has_run_account suspend_text_account(const char *text);

/* stat: 'R', 'S', ...; 0: none. */
char suspend_text_state(const char *text);

/* syscall: where a blocked thread is. -EAGAIN: it runs, or the text makes no sense. */
int suspend_text_position(const char *text, struct has_run_set *ret);

/* status: is there a signal that the thread is about to take, or may take? True if unknown. */
bool suspend_text_signalled(const char *text);

/* status: the tracer's PID; 0: none. */
pid_t suspend_text_tracer(const char *text);

#endif
