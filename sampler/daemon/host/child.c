#include "sampler/daemon/host/child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "symbolizer/base/channel.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/log_limit.h"

#define OOM_SCORE "500" /* of 1000: proc_pid_oom_score_adj(5) */

void child_begin(const char *name, bool (*own)(const void *ctx, int fd), const void *ctx)
{
	sigset_t none;

	prctl(PR_SET_NAME, name, 0, 0, 0);
	log_limit_share();
	channel_close_others(own, ctx);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void child_goes_first(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "we");

	if (!f)
		return;
	fputs(OOM_SCORE, f);
	fclose(f);
}

void child_say_ended(const char *what, int status, uint64_t delay_ns)
{
	bool killed = WIFSIGNALED(status);

	log_warn("%s ended unexpectedly (%s %d); it is started again in %.1f s", what, killed ? "signal" : "status",
		 killed ? WTERMSIG(status) : WEXITSTATUS(status), (double)delay_ns / 1e9);
}
