#include "sampler/daemon/host/own_worker.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/daemon/host/child.h"
#include "sampler/daemon/watch/watch.h"

static bool own(const void *ctx, int fd)
{
	return fd <= STDERR_FILENO || fd == *(const int *)ctx;
}

pid_t own_worker_fork(const struct watch_options *o, const char *name)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(WATCH_ENDED);
	child_begin(name, own, &o->feed);
	child_goes_first();
	_exit(watch_run(o));
}
