#ifndef JS_TARGET_CGROUP_H
#define JS_TARGET_CGROUP_H

#include <stddef.h>

/*
 * What the names of a process's control groups tell of it: /proc/PID/cgroup, see cgroups(7). Names of groups are chosen by
 * container engines and systemd, and by users in what is delegated to them, so they are evidence and no proof. All texts
 * are sanitised (text.h); "": there is none.
 */
struct cgroup_names {
	/* The innermost one: 64 hex digits of docker, containerd, CRI-O, podman and others, or the name of lxc and nspawn. */
	char container[80];
	char pod_uid[64]; /* of Kubernetes, with '-' in place of systemd's '_' */
	char unit[256]; /* of systemd, a service or a scope; of the systemd in the container, if it is in one */
};

/* Any text of any length; it need not end with a NUL. */
void cgroup_parse(const char *text, size_t len, struct cgroup_names *ret);

/* The container, as people know it: the first 12 digits of an id, or the name. */
void cgroup_container(const char *text, size_t len, char *dst, size_t size);

#endif
