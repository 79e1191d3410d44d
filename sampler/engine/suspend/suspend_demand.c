#include "sampler/engine/suspend/suspend_demand.h"

#include <fcntl.h>
#include <unistd.h>

#include "sampler/engine/suspend/suspend_text.h"

static struct has_run_account read_account(int fd)
{
	char text[128];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return (struct has_run_account){0};
	text[n] = '\0';
	return suspend_text_account(text);
}

void suspend_demand_open(struct suspend_demand *d)
{
	d->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	d->before = read_account(d->fd);
}

uint64_t suspend_demand_take(struct suspend_demand *d)
{
	struct has_run_account now = read_account(d->fd), before = d->before;

	if (!now.slices)
		return 0;
	d->before = now;
	return now.cpu_ns - before.cpu_ns + now.wait_ns - before.wait_ns;
}

void suspend_demand_close(struct suspend_demand *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}
