#ifndef JS_BASE_LOG_H
#define JS_BASE_LOG_H

#include <stdbool.h>

/*
 * Messages for the user, on stderr, one line each. Control, escape and bidirectional characters become '?', since names
 * come from the target. The level and the live line are process-wide. Thread-safe.
 */
enum log_level {
	LOG_LEVEL_QUIET, /* errors only (-q) */
	LOG_LEVEL_NORMAL, /* + warnings and notes */
	LOG_LEVEL_INFO, /* -v */
	LOG_LEVEL_DEBUG, /* -vv */
};

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* A live line without a line end is on the terminal: the next message replaces it. */
void log_set_live_line(bool shown);

/*
 * If the journal reads stderr, messages begin with their priority from now on, such as "<3>" for an error
 * (sd-daemon(3)).
 */
void log_for_journal(void);

/* If messages of this process, or of those that share a limit, were left out (log_limit.h), logs how many. */
void log_say_left_out(void);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* "jsampler: ..." */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
