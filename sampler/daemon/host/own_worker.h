#ifndef JS_HOST_OWN_WORKER_H
#define JS_HOST_OWN_WORKER_H

#include <sys/types.h>

struct watch_options;

/*
 * Forks a process that samples one target (watch_run()): `name` in ps(1), and gone when this one is. o->feed stays the caller's.
 * Its PID, or -1 and errno.
 */
pid_t own_worker_fork(const struct watch_options *o, const char *name);

#endif
