#ifndef JS_INSPECT_INSPECT_H
#define JS_INSPECT_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What is known about a process without sampling it. Fields that cannot be read (another user's process) stay empty.
 * All texts are sanitised.
 */
enum inspect_jvm {
	INSPECT_NO_JVM,
	INSPECT_JVM, /* HotSpot; its tables were read */
	INSPECT_JVM_CLOSED, /* looks like a JVM, but could not be read or access is denied */
};

struct inspection {
	pid_t pid, ns_pid;
	uid_t uid;
	enum inspect_jvm jvm;
	char release[96]; /* "17.0.15+6-Debian-1deb12u1" */
	char main[512]; /* main class, jar or module; "" unknown */
	char container[80]; /* name or shortened id from the cgroup; "" none */
	uint64_t uptime_s;
	/* Not bool, which has no value for every byte that a child may send. */
	uint8_t bridge; /* the bridge's library is mapped */
	uint8_t silent; /* reading it took too long */
};

struct proc;

/* Is its program named java or the like? Or, if that cannot be read (*ret_closed), the process itself? */
bool inspect_is_java(struct proc *p, bool *ret_closed);

/* What names and mappings show; nothing in the process's memory or files is parsed. */
struct inspect_outline {
	bool may_be_jvm; /* a libjvm.so is mapped, or its program is named java */
	bool much_code; /* has a file with more machine code than libc; every JVM does, and every native image */
	uint32_t dev_major, dev_minor; /* of its program's file, or else of the first mapping; 0: unknown */
	uint64_t inode;
	uid_t uid; /* real */
};
/* -ESRCH: no such process; -ENOENT: no program, unknown, or too small for a JVM. It may block forever as well. */
int inspect_outline(pid_t pid, struct inspect_outline *ret);
/* -ESRCH: no such process. The process can make this block forever: see each_process.h. */
int inspect_process(pid_t pid, struct inspection *ret);
/* Only what the process cannot delay: without its memory and command line. INSPECT_JVM_CLOSED: its name is java. */
int inspect_outside(pid_t pid, struct inspection *ret);
/*
 * Checks what a child that may have been taken over reports about a process. Only facts from the process's memory are
 * taken from the report, sanitised; the rest comes from inspect_outside(). -ESRCH: no such process.
 */
int inspect_confirm(pid_t pid, const struct inspection *told, struct inspection *ret);

#endif
