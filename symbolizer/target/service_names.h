#ifndef JS_TARGET_SERVICE_NAMES_H
#define JS_TARGET_SERVICE_NAMES_H

#include <stddef.h>

/*
 * The variables of an environment that say what a service is called: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, by OpenTelemetry's
 * specification; POD_NAME and POD_NAMESPACE, by which manifests of Kubernetes often tell a pod what it is called. An environment has
 * passwords, too: where the broker opens files, nothing else of it reaches the process that parses.
 */
enum { SERVICE_NAMES_ENVIRONMENT_MAX = 8 << 20 }; /* more than execve(2) accepts by default */

struct proc;

/* Keeps only these variables of the text of /proc/PID/environ, and what is after them is overwritten. Returns the new length. */
size_t service_names_keep(char *text, size_t len);
/* Reads them; the caller frees *ret. 0 or -errno. */
int service_names_read(struct proc *p, char **ret, size_t *ret_len);

#endif
