#ifndef JS_TARGET_SERVICE_NAMES_H
#define JS_TARGET_SERVICE_NAMES_H

#include <stddef.h>

/*
 * The environment variables that name a service: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, specified by
 * OpenTelemetry; POD_NAME and POD_NAMESPACE, with which Kubernetes manifests often pass a pod its name. An environment
 * may also contain passwords: if the broker opens files, nothing else of it reaches the process that parses.
 */
enum { SERVICE_NAMES_ENVIRONMENT_MAX = 8 << 20 }; /* more than execve(2) accepts by default */

struct proc;

/*
 * Keeps only these variables in the text of /proc/PID/environ, and overwrites what is after them. Returns the new
 * length.
 */
size_t service_names_keep(char *text, size_t len);
/* Reads them; the caller frees *ret. 0 or -errno. */
int service_names_read(struct proc *p, char **ret, size_t *ret_len);

#endif
