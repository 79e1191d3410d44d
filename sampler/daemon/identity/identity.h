#ifndef JS_IDENTITY_IDENTITY_H
#define JS_IDENTITY_IDENTITY_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/model/label.h"

/*
 * The labels of a target, by which rules select it and its history is found. They are computed once, when a target is
 * found, from texts that the caller has read: nothing here opens a file or a process. Most of the texts are the
 * target's own claims: whoever may start a JVM may give it any name.
 */

/* Texts of a target, borrowed. NULL, 0: unknown. */
struct identity_facts {
	const char *properties; /* the JVM's system properties: "KEY=VALUE" strings, each NUL-terminated (pairs.h) */
	size_t properties_len;
	const char *environment; /* /proc/PID/environ */
	size_t environment_len;
	const char *cgroup; /* /proc/PID/cgroup */
	size_t cgroup_len;
	const char *
		code; /* anything that changes when other code is deployed: the class path, time and size of its files */
	size_t code_len;
	const char *pod_log; /* directory name of the pod in /var/log/pods: NAMESPACE_POD_UID */
	const char *pod_log_container; /* the container's directory in it */
	const char *main; /* main class, jar or module (java_main.h) */
	const char *jdk, *user, *host;
	pid_t pid;
};

enum { IDENTITY_LABELS = 13, IDENTITY_VALUE_MAX = 255 };

struct identity {
	size_t n;
	struct label labels[IDENTITY_LABELS]; /* only those with a value; the most important first */
	char values[IDENTITY_LABELS][IDENTITY_VALUE_MAX + 1]; /* sanitised */
};

/* ret must not be moved or copied: its labels point into it. */
void identity_find(const struct identity_facts *f, struct identity *ret);

/* The system properties that are looked at; ends with NULL. */
const char *const *identity_properties(void);
/* All possible keys; ends with NULL. */
const char *const *identity_keys(void);

#endif
