#ifndef JS_SESSION_JAVA_MAIN_H
#define JS_SESSION_JAVA_MAIN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The main class, jar or module of a `java` command line as /proc/PID/cmdline has it
 * (NUL-separated). false: there is none. Option syntax: the java(1) launcher's.
 */
bool java_main(const char *cmdline, size_t len, char *dst, size_t size);

/* Does `name` mean this main? The whole text, the last part of a class ("Main" for "com.acme.Main"),
 * or the file name of a jar, with or without ".jar". */
bool java_main_matches(const char *main, const char *name);

#endif
