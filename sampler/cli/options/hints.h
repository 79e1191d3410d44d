#ifndef JS_CLI_OPTIONS_OPTIONS_HINTS_H
#define JS_CLI_OPTIONS_OPTIONS_HINTS_H

#include <stdbool.h>

struct err;

/*
 * For options, formats and commands of async-profiler, py-spy and perf: names the equivalent here. Each returns 0, or
 * -EINVAL with that message.
 */
int hints_check_output(const char *path, struct err *err);
int hints_check_format(const char *format, struct err *err);
int hints_check_event(const char *event, struct err *err);
int hints_unknown_option(const char *arg, struct err *err); /* always -EINVAL */
int hints_check_command(const char *word, struct err *err);

/* Is it a program, by path or in $PATH, rather than a main class? */
bool hints_is_command(const char *word);

#endif
