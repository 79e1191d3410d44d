#ifndef JS_CLOSED_THREAD_FLAGS_H
#define JS_CLOSED_THREAD_FLAGS_H

#include <sched.h>

/* Exactly as glibc's pthread_create(3) calls clone(2). */
#define CLONE_A_THREAD                                                                                                 \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |             \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

#endif
