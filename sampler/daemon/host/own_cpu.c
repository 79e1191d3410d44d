#include "sampler/daemon/host/own_cpu.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc_stat.h"

enum { GENERATIONS = 2, CHILDREN_MAX = 1024 };
#define SECOND_NS UINT64_C(1000000000)
#define TICKS_NS (SECOND_NS / 20) /* /proc/PID/stat counts whole ticks of 10 ms, for each of some processes */

static bool is_in(const pid_t *list, size_t n, pid_t pid)
{
	while (n && list[n - 1] != pid)
		n--;
	return n > 0;
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_usec * 1000;
}

static uint64_t used_ns(const struct rusage *usage)
{
	return ns_of(&usage->ru_utime) + ns_of(&usage->ru_stime);
}

/* Of children that this process has waited for, and of theirs; in whole ticks. false: it has ended, or cannot be read. */
static bool waited_ns(pid_t pid, uint64_t *ret)
{
	struct proc_stat st;

	if (proc_stat_of(pid, &st) < 0)
		return false;
	*ret = proc_ticks_ns(st.cutime + st.cstime);
	return true;
}

struct sum {
	uint64_t ns;
	const pid_t *except;
	size_t n_except;
};

static bool add_children(struct sum *s, pid_t pid, int generations);

/* A child of its own that ends meanwhile may be counted twice, or not at all. */
static bool add_child(struct sum *s, pid_t pid, int generations)
{
	uint64_t ns, waited, now;

	if (is_in(s->except, s->n_except, pid))
		return true;
	if (!clock_cpu_of_ns(pid, &ns))
		return false;
	s->ns += ns;
	if (!generations)
		return true;
	if (!waited_ns(pid, &waited) || !add_children(s, pid, generations) || !waited_ns(pid, &now))
		return false;
	s->ns += waited;
	return waited == now;
}

/* Without such a file, the kernel has none, or the process has ended, which waited_ns() shows. */
static bool add_children(struct sum *s, pid_t pid, int generations)
{
	bool known = true;
	char path[64];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT;
	for (int n = 0; known && n < CHILDREN_MAX && fscanf(f, "%d", &child) == 1; n++)
		known = add_child(s, child, generations - 1);
	known &= !ferror(f);
	fclose(f);
	return known;
}

uint64_t own_cpu_ns(struct own_cpu *o, const pid_t *except, size_t n)
{
	struct sum s = {clock_process_cpu_ns() + o->vanished_ns, except, n};
	struct rusage ended;

	o->stale = !add_children(&s, getpid(), GENERATIONS) || getrusage(RUSAGE_CHILDREN, &ended) < 0;
	if (o->stale)
		return o->last_ns;
	s.ns += used_ns(&ended) - o->left_out_ns;
	if (s.ns + TICKS_NS < o->last_ns)
		o->vanished_ns += o->last_ns - s.ns;
	if (s.ns > o->last_ns)
		o->last_ns = s.ns;
	return o->last_ns;
}

void own_cpu_left_out(struct own_cpu *o, const struct rusage *usage)
{
	o->left_out_ns += used_ns(usage);
}
