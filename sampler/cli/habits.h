#ifndef JS_CLI_HABITS_H
#define JS_CLI_HABITS_H

#include <stdbool.h>

struct err;

/*
 * Someone who types what async-profiler, py-spy or perf would take is told the option that does it
 * here. Each returns 0, or -EINVAL with that message.
 */
int habits_check_output(const char *path, struct err *err);
int habits_check_format(const char *format, struct err *err);
int habits_check_event(const char *event, struct err *err);
int habits_unknown_option(const char *arg, struct err *err); /* always -EINVAL */
int habits_check_command(const char *word, struct err *err);

/* Is it a program, by path or in $PATH, rather than a main class? */
bool habits_is_command(const char *word);

#endif
