#include "sampler/daemon/host/own_cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"

enum { GENERATIONS = 2, CHILDREN_MAX = 1024, STAT_BYTES = 1024 };
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

/* cutime and cstime in proc_pid_stat(5): of children that this process has waited for, and of theirs. */
static uint64_t ended_children_ns(pid_t pid)
{
	unsigned long long user = 0, kernel = 0;
	char path[64], text[STAT_BYTES], *end;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	end = strrchr(text, ')'); /* the name may contain anything */
	if (!end ||
	    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu", &user, &kernel) != 2)
		return 0;
	return (user + kernel) * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t cpu_of_children(pid_t pid, int generations, const pid_t *except, size_t n_except);

static uint64_t cpu_of_child(pid_t pid, int generations, const pid_t *except, size_t n_except)
{
	uint64_t ns = 0;

	if (is_in(except, n_except, pid) || !clock_cpu_of_ns(pid, &ns) || !generations)
		return ns;
	return ns + ended_children_ns(pid) + cpu_of_children(pid, generations, except, n_except);
}

static uint64_t cpu_of_children(pid_t pid, int generations, const pid_t *except, size_t n_except)
{
	uint64_t ns = 0;
	char path[64];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	for (int n = 0; f && n < CHILDREN_MAX && fscanf(f, "%d", &child) == 1; n++)
		ns += cpu_of_child(child, generations - 1, except, n_except);
	if (f)
		fclose(f);
	return ns;
}

uint64_t own_cpu_ns(struct own_cpu *o, const pid_t *except, size_t n)
{
	uint64_t ns = clock_process_cpu_ns() + cpu_of_children(getpid(), GENERATIONS, except, n) + o->vanished_ns;
	struct rusage ended;

	if (getrusage(RUSAGE_CHILDREN, &ended) == 0)
		ns += used_ns(&ended) - o->left_out_ns;
	if (ns + TICKS_NS < o->last_ns)
		o->vanished_ns += o->last_ns - ns;
	if (ns > o->last_ns)
		o->last_ns = ns;
	return o->last_ns;
}

void own_cpu_left_out(struct own_cpu *o, const struct rusage *usage)
{
	o->left_out_ns += used_ns(usage);
}
