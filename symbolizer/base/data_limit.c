#include "symbolizer/base/data_limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Opened in advance. It shows the process that forks, whose data the child has a copy of. -1: not opened. */
static int statm_fd = -1;

static int open_statm(void)
{
	return open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void data_limit_prepare(void)
{
	statm_fd = open_statm();
}

/* proc(5): size, resident, shared, text, 0, data; in pages */
static int read_statm(int fd, uint64_t *ret)
{
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return sscanf(text, "%*u %*u %*u %*u %*u %" SCNu64, ret) == 1 ? 0 : -1;
}

void data_limit(uint64_t more)
{
	int fd = statm_fd < 0 ? open_statm() : statm_fd;
	uint64_t data = 0;
	struct rlimit r, now;

	more = more < UINT64_MAX / DATA_LIMIT_FACTOR ? more * DATA_LIMIT_FACTOR : UINT64_MAX;
	if (fd >= 0 && read_statm(fd, &data) == 0) {
		data *= (uint64_t)sysconf(_SC_PAGESIZE);
		r.rlim_cur = r.rlim_max = data < UINT64_MAX - more ? data + more : RLIM_INFINITY;
		if (getrlimit(RLIMIT_DATA, &now) < 0 || now.rlim_cur > r.rlim_cur)
			setrlimit(RLIMIT_DATA, &r);
	}
	if (fd >= 0 && fd != statm_fd)
		close(fd);
}
