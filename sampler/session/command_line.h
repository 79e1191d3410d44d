#ifndef JS_SESSION_COMMAND_LINE_H
#define JS_SESSION_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a profile stores of a target's command line, as /proc/PID/cmdline has it (NUL-separated). Profiles are
 * passed around, and command lines hold passwords and tokens: unless `whole`, only the program, the main class or
 * jar of a `java` command and the JVM options that cannot hold a secret are kept; "..." stands for each run of
 * arguments that was left out. Always terminated; control characters become '?'.
 */
void command_line_text(const char *cmdline, size_t len, bool whole, char *dst, size_t size);

#endif
