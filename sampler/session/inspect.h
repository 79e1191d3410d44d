#ifndef JS_SESSION_INSPECT_H
#define JS_SESSION_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What can be said of a process without sampling it. Fields that may not be read (another user's
 * process) stay empty. All texts are sanitised.
 */
enum inspect_jvm {
	INSPECT_NO_JVM,
	INSPECT_JVM, /* HotSpot, its tables were read */
	INSPECT_JVM_CLOSED, /* looks like a JVM, may not be read, or cannot be */
};

struct inspection {
	pid_t pid, ns_pid;
	uid_t uid;
	enum inspect_jvm jvm;
	char release[96]; /* "17.0.15+6-Debian-1deb12u1" */
	char main[512]; /* main class, jar or module; "" unknown */
	char container[80]; /* name or shortened id from the cgroup; "" none */
	uint64_t uptime_s;
	bool bridge; /* the bridge's library is mapped */
	bool silent; /* it took too long to read it */
};

/* -ESRCH: no such process. What its memory and its files are made of can make this take for ever: each_process.h. */
int inspect_process(pid_t pid, struct inspection *ret);
/* As far as nothing of it can delay: without its memory and its command line. INSPECT_JVM_CLOSED: it has java's name. */
int inspect_outside(pid_t pid, struct inspection *ret);
/* One that comes from another process: all texts end, and are harmless. */
void inspect_sanitise(struct inspection *i);

/* The container part of a /proc/PID/cgroup text: docker, containerd, CRI-O, podman, lxc, systemd-nspawn
 * and Kubernetes pods. dst "" when there is none. */
void inspect_container(const char *cgroup, char *dst, size_t size);

#endif
