#ifndef JS_INSPECT_INSPECT_H
#define JS_INSPECT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What is known of a process without sampling it. Fields that cannot be read (another user's
 * process) stay empty. All texts are sanitised.
 */
enum inspect_jvm {
	INSPECT_NO_JVM,
	INSPECT_JVM, /* HotSpot, and its tables were read */
	INSPECT_JVM_CLOSED, /* looks like a JVM, but may not or cannot be read */
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
	bool silent; /* reading it took too long */
};

struct proc;

/*
 * Its program is called java or so; the process itself is, where that may not be read (*ret_closed).
 */
bool inspect_is_java(struct proc *p, bool *ret_closed);

/* What its names and mappings tell: nothing of its memory or files is parsed for it. */
struct inspect_outline {
	bool may_be_jvm; /* a libjvm.so is mapped, or its program is called java */
	uint32_t dev_major, dev_minor; /* of its program's file, or of what is mapped first; 0: not known */
	uint64_t inode;
	uid_t uid; /* real */
};
/* -ESRCH: no such process; -ENOENT: it has no program, or that is not known. It can take forever, too. */
int inspect_outline(pid_t pid, struct inspect_outline *ret);
/* -ESRCH: no such process. The process can make this take forever: see each_process.h. */
int inspect_process(pid_t pid, struct inspection *ret);
/*
 * Only what the process cannot delay: without its memory and command line. INSPECT_JVM_CLOSED: its
 * name is java.
 */
int inspect_outside(pid_t pid, struct inspection *ret);
/* Makes one from another process safe: all texts are terminated and sanitised. */
void inspect_sanitise(struct inspection *i);

#endif
