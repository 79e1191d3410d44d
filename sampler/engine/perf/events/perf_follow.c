#include "sampler/engine/perf/events/perf_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/events/perf_filter.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

enum {
	RING_BYTES = 16 << 10, /* about 200 forks and ends */
	SCAN_SHARE = 20, /* at most one part in this many of the time is spent looking for what is lost */
};

static bool in_same_ns(struct proc *a, struct proc *b)
{
	struct stat sa, sb;

	return proc_ns(a, "pid", &sa) == 0 && proc_ns(b, "pid", &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* The PID in the filter's PID namespace; -1: the process is not in it. */
static pid_t filter_id(const struct perf_follow *f, struct proc *proc)
{
	struct proc_status status;

	if (f->filter->global)
		return proc_pid(proc);
	if (!in_same_ns(proc, f->family.target) || proc_status(proc, &status) < 0)
		return -1;
	return status.ns_pid;
}

static void add_to_filter(void *ctx, struct family_member *k)
{
	struct perf_follow *f = ctx;

	k->filter_id = filter_id(f, k->proc);
	perf_filter_member(f->filter, k->filter_id, true);
}

static void take_from_filter(void *ctx, struct family_member *k)
{
	struct perf_follow *f = ctx;

	perf_filter_member(f->filter, k->filter_id, false);
}

static int open_ring(struct perf_follow *f, size_t i, int cpu)
{
	struct perf_event_attr attr;
	int r;

	perf_attr_forks(f->config, &attr);
	f->fds[i] = perf_open(&attr, -1, cpu, -1);
	if (f->fds[i] < 0)
		return f->fds[i];
	r = perf_ring_open(&f->rings[i], f->fds[i], RING_BYTES);
	if (r < 0)
		close(f->fds[i]);
	return r;
}

int perf_follow_open(struct perf_follow *f, struct proc *target, const struct perf_config *config,
		     struct perf_filter *filter, const int *cpus, size_t n_cpus)
{
	int r = 0;

	*f = (struct perf_follow){
		.family.target = target, .family.memory = config->memory, .filter = filter, .config = config};
	if (filter) {
		f->family.joined = add_to_filter;
		f->family.left = take_from_filter;
		f->family.ctx = f;
		perf_filter_member(filter, filter_id(f, target), true);
	}
	if (!n_cpus)
		return 0;
	f->rings = calloc(n_cpus, sizeof(*f->rings));
	f->fds = calloc(n_cpus, sizeof(*f->fds));
	if (!f->rings || !f->fds)
		return -ENOMEM;
	for (; r == 0 && f->n < n_cpus; f->n += r == 0)
		r = open_ring(f, f->n, cpus[f->n]);
	return r;
}

void perf_follow_close(struct perf_follow *f)
{
	for (size_t i = 0; i < f->n; i++) {
		perf_ring_close(&f->rings[i]);
		close(f->fds[i]);
	}
	free(f->rings);
	free(f->fds);
	if (f->family.target)
		family_done(&f->family);
	*f = (struct perf_follow){0};
}

void perf_follow_start(struct perf_follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		ioctl(f->fds[i], PERF_EVENT_IOC_ENABLE, 0);
	family_scan(&f->family, clock_monotonic_ns());
}

static int take_record(void *ctx, const void *bytes, size_t size)
{
	struct perf_follow *f = ctx;
	const struct perf_layout layout = perf_attr_layout(f->config);
	struct perf_record r;

	if (perf_record_parse(&layout, bytes, size, &r) < 0)
		return 0;
	if (r.kind == PERF_REC_LOST)
		f->lost = true;
	else if (r.kind == PERF_REC_FORK && r.pid != r.ppid)
		family_forked(&f->family, r.ppid, r.pid, r.time);
	return 0;
}

/* Finds what a full ring had no room for. That takes long with very many processes, which may fill it again and
 * again. */
static void look_for_lost(struct perf_follow *f)
{
	uint64_t now = clock_monotonic_ns();

	if (!f->lost || now - f->scanned_ns < SCAN_SHARE * f->scan_cost_ns)
		return;
	f->lost = false;
	family_scan(&f->family, now);
	f->scanned_ns = clock_monotonic_ns();
	f->scan_cost_ns = f->scanned_ns - now;
}

void perf_follow_take(struct perf_follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		(void)perf_ring_drain(&f->rings[i], take_record, f);
	look_for_lost(f);
}
