#include "sampler/engine/prompt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"

enum { NICE = -10, STACK_BYTES = 256 << 10 };

struct reader {
	struct prompt *all;
	pthread_t thread;
	size_t ring;
	int cpu, fd;
};

struct prompt {
	prompt_fn *fn;
	void *ctx;
	int stop_fd; /* readable for ever once the threads shall end */
	size_t n; /* threads that run */
	struct reader readers[];
};

/* As of sched_setattr(2): the kernel's header collides with the C library's, which has this only since 2.41. */
struct task_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

enum { KEEP_POLICY = 0x08 }; /* SCHED_FLAG_KEEP_POLICY */

/*
 * For users who may not raise a priority. Since Linux 6.12 a task that wakes preempts one with a longer time slice
 * (PREEMPT_SHORT in kernel/sched/features.h); with an equal one it waits until the other's slice ends, which on most
 * kernels is at the next tick, up to 4 ms later. Its share of the CPU stays the same, so anyone may ask for a
 * short slice. Older kernels ignore it.
 */
static void ask_for_slice(uint64_t ns)
{
	struct task_attr attr = {.size = sizeof(attr), .flags = KEEP_POLICY, .runtime_ns = ns};

	errno = 0;
	attr.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
	if (errno == 0)
		(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}

/*
 * What waits for a CPU loses samples. A nice value alone would not do: it counts within a session's
 * autogroup (sched(7)) only, against other work of the machine it says nothing. The thread's share
 * of a CPU is a percent or two. Where that is not permitted, a short time slice helps.
 */
void prompt_raise_priority(void)
{
	const struct sched_param lowest = {.sched_priority = 1};

	/* Threads that such a thread starts begin as what it is, and need not wait for a busy CPU first. */
	if (sched_setscheduler(0, SCHED_RR, &lowest) < 0) {
		(void)!setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
		ask_for_slice(PROMPT_SLICE_NS);
	}
}

int prompt_hurry(void)
{
	id_t tid = (id_t)syscall(SYS_gettid);
	int before = getpriority(PRIO_PROCESS, tid);

	if (before <= NICE || setpriority(PRIO_PROCESS, tid, NICE) < 0)
		ask_for_slice(PROMPT_SLICE_NS);
	return before;
}

void prompt_calm(int before)
{
	ask_for_slice(0);
	(void)!setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), before);
}

bool prompt_is_ahead(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_RR || policy == SCHED_FIFO;
}

uint64_t prompt_switches(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) < 0)
		return 0;
	return (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw;
}

/* From elsewhere it is a bit later, so failure is no error. */
static void stay_on(int cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);

	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	(void)!sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct pollfd p[] = {{.fd = r->all->stop_fd, .events = POLLIN},
			     {.fd = r->fd, .events = POLLIN}};

	prompt_raise_priority();
	stay_on(r->cpu);
	for (;;) {
		int n = poll(p, 2, -1);

		if (n < 0 && errno != EINTR)
			break;
		if (n <= 0)
			continue;
		if (p[0].revents)
			break;
		r->all->fn(r->all->ctx, r->ring);
		/* The thread whose event owns the ring is gone: this would be readable for ever. */
		if (p[1].revents & (POLLHUP | POLLERR | POLLNVAL))
			p[1].fd = -1;
	}
	return NULL;
}

int prompt_start(const int *cpus, const int *fds, size_t n, prompt_fn *fn, void *ctx,
		 struct prompt **ret)
{
	struct prompt *p = calloc(1, sizeof(*p) + n * sizeof(p->readers[0]));
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
		r = engine_thread_start(&p->readers[i].thread, "jsampler-cpu", STACK_BYTES,
					reader_main, &p->readers[i]);
		p->n += r == 0;
	}
	if (r < 0) {
		prompt_stop(p);
		return r;
	}
	*ret = p;
	return 0;
}

void prompt_stop(struct prompt *p)
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
