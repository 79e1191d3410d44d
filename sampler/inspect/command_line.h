#ifndef JS_INSPECT_COMMAND_LINE_H
#define JS_INSPECT_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A target's command line as profiles store it, from /proc/PID/cmdline (NUL-separated). Profiles are passed on, and
 * command lines contain passwords and tokens. So unless `whole`, only the program, the main class or jar of a `java`
 * command and JVM options that cannot contain a secret are kept; "..." replaces each run of other arguments. Always
 * terminated; control characters become '?'.
 */
void command_line_text(const char *cmdline, size_t len, bool whole, char *dst, size_t size);

#endif
