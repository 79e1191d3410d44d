#include "sampler/rights/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Needed while sampling: a library and its debug file, /proc files of a thread, several of each at a time. */
enum { SPARE = 12 };

void descriptors_raise(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

int descriptors_check(struct err *err)
{
	struct rlimit l = {0};
	int fds[SPARE], n = 0, e = 0;

	while (n < SPARE && e == 0) {
		fds[n] = open("/", O_PATH | O_CLOEXEC);
		if (fds[n] < 0)
			e = errno;
		else
			n++;
	}
	close_all(fds, (size_t)n);
	if (e != EMFILE)
		return 0;
	getrlimit(RLIMIT_NOFILE, &l);
	return err_set(err, -EMFILE,
		       "too few file descriptors: the limit is %llu; raise it ('ulimit -Hn', LimitNOFILE=)",
		       (unsigned long long)l.rlim_cur);
}
