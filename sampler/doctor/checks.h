#ifndef JS_DOCTOR_CHECKS_H
#define JS_DOCTOR_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The findings of `jsampler doctor`: each check is one fact, tried rather than deduced if possible. If something is
 * missing, the remedy is the command that fixes it. Texts are sanitised, because they contain names from the target.
 */
enum check_level {
	CHECK_OK,
	CHECK_SKIP, /* could not be tried; the text says why */
	CHECK_WARN, /* jsampler works, but its output lacks something */
	CHECK_FAIL, /* something required is missing */
	CHECK_LEVELS
};

struct check {
	enum check_level level;
	char name[24]; /* "perf_event_paranoid" */
	char text[400];
	char remedy[400]; /* what to type or change; "": none */
};

struct checks {
	struct check *v;
	size_t n, cap;
};

const char *check_level_name(enum check_level level); /* "ok", "skip", "warn", "fail" */

/* Without memory, the check is omitted. */
void checks_add(struct checks *c, enum check_level level, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Sets the remedy of the last check added. */
void checks_remedy(struct checks *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t checks_count(const struct checks *c, enum check_level level);
void checks_done(struct checks *c);

/*
 * Checks this host and jsampler's own rights: kernel settings, capabilities, seccomp, limits; tries a perf event and
 * an eBPF program. Reads nothing from other processes.
 */
void checks_host(struct checks *c);

struct checks_options {
	bool attach; /* may ask the JVM for its own thread dump (jvm-bridge/attach/attach.h) */
};

/*
 * Checks one process: access, namespaces, JDK, tables, symbols, attach, a short recording, and its waiting threads
 * against the JVM's own dump. Runs in a child, which is closed (closing_close()) before it parses anything from the
 * target. A target can make reads hang so that not even SIGKILL ends them; such a child is left behind, and its
 * findings so far are kept.
 */
void checks_target(struct checks *c, pid_t pid, const struct checks_options *o);

#endif
