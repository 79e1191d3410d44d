#include "sampler/engine/engine_thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbolizer/target/deputy.h"

enum { NICE = -10 };

struct start {
	const char *name;
	void *(*body)(void *);
	void *arg;
};

/* Each thread sets its own name: another one would have to open a file in /proc for that. */
static void *named(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	pthread_setname_np(pthread_self(), s.name);
	return s.body(s.arg);
}

int engine_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*body)(void *), void *arg)
{
	struct start *s = malloc(sizeof(*s));
	sigset_t all, before;
	pthread_attr_t attr;
	int r;

	if (!s)
		return -ENOMEM;
	*s = (struct start){name, body, arg};
	sigfillset(&all);
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attr, named, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (r)
		free(s);
	return -r;
}

/* As in sched_setattr(2): the kernel's header collides with the C library's, which has this only since 2.41. */
struct task_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

enum { KEEP_POLICY = 0x08 }; /* SCHED_FLAG_KEEP_POLICY */

/*
 * For users who may not raise a priority. Since Linux 6.12 a waking task preempts one with a longer time slice
 * (PREEMPT_SHORT in linux/kernel/sched/features.h); with an equal slice it waits until the other's ends, on most
 * kernels at the next tick, up to 4 ms later. The task's share of the CPU stays the same, so anyone may ask for a
 * short slice. Older kernels ignore it.
 */
static void set_slice(uint64_t ns)
{
	struct task_attr attr = {.size = sizeof(attr), .flags = KEEP_POLICY, .runtime_ns = ns};

	errno = 0;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	if (errno == 0)
		(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}

static bool ask_for(bool realtime)
{
	return deputy() && deputy()->schedule(deputy()->ctx, gettid(), realtime, NICE) == 0;
}

static bool set_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, NICE) == 0 || ask_for(false);
}

/*
 * A thread that waits for a CPU loses samples. A nice value alone would not do: it counts only within a session's
 * autogroup (sched(7)), not against the machine's other work. The thread's share of a CPU is one or two percent. If
 * real time is not permitted, a short time slice helps.
 */
void engine_thread_raise_priority(void)
{
	const struct sched_param lowest = {.sched_priority = 1};

	/* Inherited, so that threads started by this one need not wait for a busy CPU before they can raise their own
	 * priority. A deputy is asked first, since it also raises the priority of what answers this thread. */
	if (ask_for(true) || sched_setscheduler(0, SCHED_RR, &lowest) == 0)
		return;
	(void)set_nice();
	set_slice(ENGINE_THREAD_SLICE_NS);
}

int engine_thread_boost(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	if (before <= NICE || !set_nice())
		set_slice(ENGINE_THREAD_SLICE_NS);
	return before;
}

void engine_thread_unboost(int before)
{
	set_slice(0);
	(void)!setpriority(PRIO_PROCESS, 0, before);
}

bool engine_thread_is_realtime(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_RR || policy == SCHED_FIFO;
}

uint64_t engine_thread_switches(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) < 0)
		return 0;
	return (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw;
}
