#include "sampler/engine/perf/ring_readers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/engine/cpu_list.h"
#include "sampler/engine/engine_thread.h"

enum { STACK_BYTES = 256 << 10 };

struct reader {
	struct ring_readers *all;
	pthread_t thread;
	size_t ring;
	int cpu, fd;
};

struct ring_readers {
	ring_reader_fn *fn;
	void *ctx;
	int stop_fd; /* readable from when the threads have to end */
	size_t n; /* running threads */
	struct reader readers[];
};

/* Failure is not an error: elsewhere the thread would run a little later. */
static void pin_to_cpu(int cpu)
{
	cpu_set_t set[CPU_LIST_SETS] = {0};

	CPU_SET_S(cpu, sizeof(set), set);
	(void)!sched_setaffinity(0, sizeof(set), set);
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct pollfd p[] = {{.fd = r->all->stop_fd, .events = POLLIN}, {.fd = r->fd, .events = POLLIN}};

	engine_thread_raise_priority();
	pin_to_cpu(r->cpu);
	for (;;) {
		int n = poll(p, 2, -1);

		if (n < 0 && errno != EINTR)
			break;
		if (n <= 0)
			continue;
		if (p[0].revents)
			break;
		r->all->fn(r->all->ctx, r->ring);
		/* The thread whose event owns the ring is gone: poll() would always return at once from now on. */
		if (p[1].revents & (POLLHUP | POLLERR | POLLNVAL))
			p[1].fd = -1;
	}
	return NULL;
}

int ring_readers_start(const int *cpus, const int *fds, size_t n, ring_reader_fn *fn, void *ctx,
		       struct ring_readers **ret)
{
	struct ring_readers *p = calloc(1, sizeof(*p) + n * sizeof(p->readers[0]));
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->fn = fn;
	p->ctx = ctx;
	p->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->stop_fd < 0)
		r = -errno;
	for (size_t i = 0; i < n && r == 0; i++) {
		p->readers[i] = (struct reader){.all = p, .ring = i, .cpu = cpus[i], .fd = fds[i]};
		r = engine_thread_start(&p->readers[i].thread, "jsampler-cpu", STACK_BYTES, reader_main,
					&p->readers[i]);
		p->n += r == 0;
	}
	if (r < 0) {
		ring_readers_stop(p);
		return r;
	}
	*ret = p;
	return 0;
}

void ring_readers_stop(struct ring_readers *p)
{
	const uint64_t one = 1;

	if (!p)
		return;
	(void)!write(p->stop_fd, &one, sizeof(one));
	for (size_t i = 0; i < p->n; i++)
		pthread_join(p->readers[i].thread, NULL);
	if (p->stop_fd >= 0)
		close(p->stop_fd);
	free(p);
}
