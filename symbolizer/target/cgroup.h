#ifndef JS_TARGET_CGROUP_H
#define JS_TARGET_CGROUP_H

#include <stddef.h>

/*
 * What the names of a process's control groups (/proc/PID/cgroup, cgroups(7)) reveal about it. Container engines,
 * systemd, and users in groups delegated to them choose these names, so they are hints, not proof. All texts are
 * sanitised (text.h); "": none.
 */
struct cgroup_names {
	/*
	 * The innermost container: 64 hex digits for docker, containerd, CRI-O, podman and others, or the name for lxc
	 * and nspawn.
	 */
	char container[80];
	char pod_uid[64]; /* Kubernetes pod, with '-' in place of systemd's '_' */
	char unit[256]; /* systemd service or scope; inside a container, that of the container's systemd */
};

/* `text` may be anything, and need not end with a NUL. */
void cgroup_parse(const char *text, size_t len, struct cgroup_names *ret);

/* The container as people refer to it: the first 12 digits of an id, or the name. */
void cgroup_container(const char *text, size_t len, char *dst, size_t size);

#endif
