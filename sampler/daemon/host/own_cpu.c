#include "sampler/daemon/host/own_cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"

enum { GENERATIONS = 2, CHILDREN_MAX = 1024 };

static bool is_in(const pid_t *list, size_t n, pid_t pid)
{
	while (n && list[n - 1] != pid)
		n--;
	return n > 0;
}

static uint64_t cpu_of_tree(pid_t pid, int generations, const pid_t *except, size_t n_except)
{
	uint64_t ns = 0;
	char path[64];
	int child;
	FILE *f;

	if (is_in(except, n_except, pid) || !clock_cpu_of_ns(pid, &ns))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = generations ? fopen(path, "re") : NULL;
	for (int n = 0; f && n < CHILDREN_MAX && fscanf(f, "%d", &child) == 1; n++)
		ns += cpu_of_tree(child, generations - 1, except, n_except);
	if (f)
		fclose(f);
	return ns;
}

uint64_t own_cpu_ns(const pid_t *except, size_t n)
{
	return cpu_of_tree(getpid(), GENERATIONS, except, n);
}
