#ifndef JS_IDENTITY_IDENTITY_H
#define JS_IDENTITY_IDENTITY_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/model/label.h"

/*
 * What a target is called, by labels, of which rules choose and under which the history is found. It is worked out once, when
 * a target is found, from texts that others read: nothing here opens a file or a process. Most of these texts are the target's own
 * words; who may start a JVM may give it any name.
 */

/* Texts of a target, borrowed. NULL and 0: not known. */
struct identity_facts {
	const char *properties; /* the JVM's system properties, "KEY=VALUE" with a NUL behind each (pairs.h) */
	size_t properties_len;
	const char *environment; /* /proc/PID/environ */
	size_t environment_len;
	const char *cgroup; /* /proc/PID/cgroup */
	size_t cgroup_len;
	const char *
		code; /* anything that changes when other code is deployed: the class path, time and size of its files */
	size_t code_len;
	const char *pod_log; /* name of the pod's directory in /var/log/pods: NAMESPACE_POD_UID */
	const char *pod_log_container; /* of the one in it that is the container's */
	const char *main; /* main class, jar or module (java_main.h) */
	const char *jdk, *user, *host;
	pid_t pid;
};

enum identity_source {
	IDENTITY_SYSTEM, /* what the kernel, or jsampler, knows */
	IDENTITY_PROPERTY,
	IDENTITY_VARIABLE, /* of the environment */
	IDENTITY_PROPERTY_ATTRIBUTES, /* otel.resource.attributes */
	IDENTITY_VARIABLE_ATTRIBUTES, /* OTEL_RESOURCE_ATTRIBUTES */
	IDENTITY_CGROUP,
	IDENTITY_POD_LOG,
	IDENTITY_UNIT,
	IDENTITY_MAIN,
	IDENTITY_CODE, /* a hash of it */
	IDENTITY_NOWHERE, /* the name for what has none */
};

enum { IDENTITY_LABELS = 13, IDENTITY_VALUE_MAX = 255 };

struct identity {
	size_t n;
	struct label labels[IDENTITY_LABELS]; /* only those that have a value; sorted by what people look for first */
	enum identity_source sources[IDENTITY_LABELS];
	char values[IDENTITY_LABELS][IDENTITY_VALUE_MAX + 1]; /* sanitised */
};

/* ret must not be moved or copied: its labels point into it. */
void identity_find(const struct identity_facts *f, struct identity *ret);
const char *identity_get(const struct identity *id, const char *key); /* "": it has no such label */
const char *identity_source_name(enum identity_source s); /* "property", for an API */

/* The keys that a label can have; NULL behind the last. */
const char *const *identity_keys(void);

#endif
