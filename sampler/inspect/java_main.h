#ifndef JS_INSPECT_JAVA_MAIN_H
#define JS_INSPECT_JAVA_MAIN_H

#include <stdbool.h>
#include <stddef.h>

bool java_is_launcher(const char *program); /* by the file name in a path */

/*
 * Finds the main class, jar or module in a `java` command line from /proc/PID/cmdline (NUL-separated). false: none.
 * The option syntax is that of the java(1) launcher. Other programs that contain a JVM are known by their file name:
 * their arguments mean something else, and may be secret.
 */
bool java_main(const char *cmdline, size_t len, char *dst, size_t size);

/*
 * Does `name` mean this main? It may be the whole text, the last part of a class ("Main" for "com.acme.Main"), or the
 * file name of a jar, with or without ".jar".
 */
bool java_main_matches(const char *main, const char *name);

/* The shortest name that means this main: "Main" for "com.acme.Main", "shop" for "/opt/shop.jar". */
void java_main_short(const char *main, char *dst, size_t size);

#endif
