/*
 * Samples several processes with one set of events for the host, and compares with the CPU time that the kernel accounted:
 * host_probe RATE SECONDS PID[/DIVISOR]... One line of KEY=VALUE for each process on stdout, and one for all. PID 0: its own.
 * Before these, mapped=PID for each process that was said to have mapped code.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/frequency.h"
#include "sampler/engine/perf/events/perf_members.h"
#include "sampler/engine/perf/perf_host.h"
#include "sampler/model/raw_sample.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

enum { MOST = 64 };

struct target {
	pid_t pid;
	uint32_t divisor;
	uint64_t samples, weight, cpu0, cpu1, last_ns;
};

struct run {
	struct perf_host *h;
	struct target targets[MOST];
	int n;
	pid_t mapped[MOST]; /* each once */
	int n_mapped;
	uint64_t from_ns, to_ns, until_ns, wrong, cut, unordered, no_tid, execs, exits, names;
	bool measured;
};

static struct target *find(struct run *r, pid_t pid)
{
	for (int i = 0; i < r->n; i++)
		if (r->targets[i].pid == pid)
			return &r->targets[i];
	return NULL;
}

static void on_sample(void *ctx, const struct raw_sample *s)
{
	struct run *r = ctx;
	struct target *t = find(r, s->pid);

	r->cut += s->stack_cut;
	r->wrong += !t;
	if (!t)
		return;
	r->no_tid += s->tid < 0;
	r->unordered += s->time_ns < t->last_ns;
	t->last_ns = s->time_ns;
	if (s->time_ns < r->from_ns || (r->measured && s->time_ns >= r->to_ns))
		return;
	t->samples++;
	t->weight += s->weight * t->divisor;
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	struct run *r = ctx;

	(void)tid, (void)comm;
	r->names++;
	r->wrong += !find(r, pid);
}

static void on_thread_exit(void *ctx, pid_t pid, pid_t tid)
{
	struct run *r = ctx;

	(void)tid;
	r->exits++;
	r->wrong += !find(r, pid);
}

static void on_pid(void *ctx, pid_t pid)
{
	struct run *r = ctx;

	r->execs++;
	r->wrong += !find(r, pid);
}

/* Also of others: JVMs that start. */
static void on_mapped(void *ctx, pid_t pid)
{
	struct run *r = ctx;
	int i = 0;

	while (i < r->n_mapped && r->mapped[i] != pid)
		i++;
	if (i == r->n_mapped && i < MOST)
		r->mapped[r->n_mapped++] = pid;
}

static void on_idle(void *ctx)
{
	(void)ctx;
}

static uint64_t cpu_of(pid_t pid)
{
	uint64_t ns;

	return clock_cpu_of_ns(pid, &ns) ? ns : 0;
}

static uint64_t on_turn(void *ctx)
{
	struct run *r = ctx;
	uint64_t now = clock_monotonic_ns();

	if (now < r->until_ns)
		return r->until_ns;
	if (!r->measured) {
		r->measured = true;
		r->to_ns = now;
		for (int i = 0; i < r->n; i++)
			r->targets[i].cpu1 = cpu_of(r->targets[i].pid);
	}
	perf_host_stop(r->h);
	return now + 1000000000;
}

static int begin(struct run *r, char **argv, struct err *err)
{
	const struct perf_host_options o = {.period_ns = frequency_period_ns((uint64_t)atoi(argv[1])), .kernel = true};
	int e = perf_host_open(&o, &r->h, err);

	for (int i = 0; argv[3 + i] && i < MOST && e == 0; i++) {
		struct target *t = &r->targets[r->n++];
		const char *slash = strchr(argv[3 + i], '/');

		t->pid = atoi(argv[3 + i]);
		if (t->pid == 0)
			t->pid = getpid();
		t->divisor = slash ? (uint32_t)atoi(slash + 1) : 1;
		e = perf_members_set(perf_host_members(r->h), t->pid, (uint32_t)i, t->divisor);
		perf_host_watch(r->h, t->pid, true);
	}
	if (e == 0)
		perf_members_unmap(perf_host_members(r->h));
	return e;
}

static void tell(const struct run *r, double seconds)
{
	struct perf_host_stats s = perf_host_stats(r->h);
	struct timespec own;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	for (int i = 0; i < r->n_mapped; i++)
		printf("mapped=%d\n", (int)r->mapped[i]);
	for (int i = 0; i < r->n; i++) {
		const struct target *t = &r->targets[i];

		printf("pid=%d samples=%llu weight=%.4f cpu=%.4f\n", (int)t->pid, (unsigned long long)t->samples,
		       (double)t->weight / 1e9, (double)(t->cpu1 - t->cpu0) / 1e9);
	}
	printf("wrong=%llu unordered=%llu foreign=%llu ended=%llu no_tid=%llu lost=%llu lost_records=%llu "
	       "malformed=%llu cut=%llu stack=%u "
	       "execs=%llu exits=%llu own=%.4f seconds=%.3f\n",
	       (unsigned long long)r->wrong, (unsigned long long)r->unordered, (unsigned long long)s.foreign,
	       (unsigned long long)s.ended, (unsigned long long)r->no_tid,
	       (unsigned long long)(s.lost_ring + s.lost_queue), (unsigned long long)s.lost_records,
	       (unsigned long long)s.malformed, (unsigned long long)r->cut, s.stack_bytes, (unsigned long long)r->execs,
	       (unsigned long long)r->exits, (double)own.tv_sec + (double)own.tv_nsec / 1e9, seconds);
}

int main(int argc, char **argv)
{
	static struct run r;
	const struct perf_host_sink sink = {.ctx = &r,
					    .fd = -1,
					    .sample = on_sample,
					    .thread = on_thread,
					    .thread_exit = on_thread_exit,
					    .exec = on_pid,
					    .mapped = on_mapped,
					    .idle = on_idle,
					    .turn = on_turn};
	struct err err = {0};

	if (argc < 4)
		return 2;
	if (begin(&r, argv, &err) < 0 || perf_host_start(r.h, &err) < 0) {
		fprintf(stderr, "host_probe: %s\n", err.msg[0] ? err.msg : "cannot begin");
		return 77;
	}
	for (int i = 0; i < r.n; i++)
		r.targets[i].cpu0 = cpu_of(r.targets[i].pid);
	r.from_ns = clock_monotonic_ns();
	r.until_ns = r.from_ns + (uint64_t)atoi(argv[2]) * 1000000000;
	perf_host_run(r.h, &sink);
	tell(&r, (double)(r.to_ns - r.from_ns) / 1e9);
	perf_host_close(r.h);
	return 0;
}
