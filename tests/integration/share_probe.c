/*
 * Samples several processes with perf engines that share their events on CPUs, and compares with the CPU time that the
 * kernel accounted: share_probe RATE WARM SECONDS share|own PID...; `own`: without sharing. After WARM seconds it measures
 * for SECONDS. One line of KEY=VALUE for each process on stdout, and one for all.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/frequency.h"
#include "sampler/model/raw_sample.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum { MOST = 64, LOOKS = 8, SKIP = 77 };

struct target {
	pid_t pid;
	struct proc *proc;
	struct engine *engine;
	pthread_t thread;
	uint64_t samples, weight, wrong, cut, execs, exits, cpu0, cpu1;
	bool shared; /* while it was measured */
};

static _Atomic uint64_t from_ns = UINT64_MAX, to_ns = UINT64_MAX;

static void on_sample(void *ctx, const struct raw_sample *s)
{
	struct target *t = ctx;

	t->wrong += s->pid != t->pid;
	if (s->time_ns < from_ns || s->time_ns >= to_ns)
		return;
	t->samples++;
	t->weight += s->weight;
	t->cut += s->stack_cut;
}

static void on_exec(void *ctx, pid_t pid)
{
	struct target *t = ctx;

	(void)pid;
	t->execs++;
}

static void on_exit_(void *ctx, pid_t pid, pid_t tid)
{
	struct target *t = ctx;

	(void)pid, (void)tid;
	t->exits++;
}

static uint64_t cpu_of(pid_t pid)
{
	uint64_t ns;

	return clock_cpu_of_ns(pid, &ns) ? ns : 0;
}

/* Timers of sampling events that run now, on all CPUs. */
static unsigned count_timers(void)
{
	FILE *f = fopen("/proc/timer_list", "re");
	char line[512];
	unsigned n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "perf_swevent_hrtimer") != NULL;
	if (f)
		fclose(f);
	return n;
}

static void *run(void *arg)
{
	struct target *t = arg;
	const struct engine_sink sink = {.ctx = t, .sample = on_sample, .exec = on_exec, .thread_exit = on_exit_};
	struct err err = {0};

	if (t->engine->ops->run(t->engine, &sink, 0, &err) < 0)
		fprintf(stderr, "share_probe: %s\n", err.msg);
	return NULL;
}

static int begin(struct target *t, const struct engine_options *o, struct err *err)
{
	int r = proc_open(t->pid, &t->proc, err);

	if (r == 0)
		r = engine_perf_ops.open(t->proc, o, &t->engine, err);
	return r < 0 ? r : t->engine->ops->start(t->engine, err);
}

static void tell(const struct target *t)
{
	struct engine_stats s = t->engine->ops->stats(t->engine);

	printf("pid=%d samples=%llu weight=%.4f cpu=%.4f shared=%d wrong=%llu cut=%llu execs=%llu exits=%llu "
	       "lost=%llu ended=%d\n",
	       (int)t->pid, (unsigned long long)t->samples, (double)t->weight / 1e9,
	       t->cpu1 > t->cpu0 ? (double)(t->cpu1 - t->cpu0) / 1e9 : 0.0, t->shared, (unsigned long long)t->wrong,
	       (unsigned long long)t->cut, (unsigned long long)t->execs, (unsigned long long)t->exits,
	       (unsigned long long)s.lost, t->engine->ops->target_ended(t->engine));
}

/* The fewest timers: those of others, and of threads that run, come and go. */
static unsigned measure(struct target *targets, int n, double seconds)
{
	unsigned timers = UINT_MAX;

	for (int i = 0; i < n; i++)
		targets[i].cpu0 = cpu_of(targets[i].pid);
	from_ns = clock_monotonic_ns();
	for (int i = 0; i < LOOKS; i++) {
		unsigned now = count_timers();

		usleep((useconds_t)(seconds * 1e6 / LOOKS));
		if (now < timers)
			timers = now;
	}
	for (int i = 0; i < n; i++) {
		targets[i].cpu1 = cpu_of(targets[i].pid);
		targets[i].shared = targets[i].engine->ops->stats(targets[i].engine).shares;
	}
	to_ns = clock_monotonic_ns();
	return timers;
}

int main(int argc, char **argv)
{
	static struct target targets[MOST];
	struct engine_options o = {.event = "cpu", .kernel = true};
	struct err err = {0};
	unsigned timers;
	int n = argc - 5, r = 0;

	if (n < 1 || n > MOST)
		return 2;
	log_set_level(getenv("SHARE_PROBE_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_QUIET);
	o.period = frequency_period_ns((uint64_t)atoi(argv[1]));
	if (!strcmp(argv[4], "share") && engine_perf_ops.share(&o, &o.shared, &err) < 0) {
		fprintf(stderr, "share_probe: %s\n", err.msg);
		return SKIP;
	}
	for (int i = 0; i < n && r == 0; i++) {
		targets[i].pid = atoi(argv[5 + i]);
		r = begin(&targets[i], &o, &err);
	}
	if (r < 0) {
		fprintf(stderr, "share_probe: %s\n", err.msg);
		return 1;
	}
	for (int i = 0; i < n; i++)
		if (pthread_create(&targets[i].thread, NULL, run, &targets[i]))
			return 1;
	puts("sampling");
	fflush(stdout);
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	timers = measure(targets, n, atof(argv[3]));
	for (int i = 0; i < n; i++)
		targets[i].engine->ops->stop(targets[i].engine);
	for (int i = 0; i < n; i++) {
		pthread_join(targets[i].thread, NULL);
		tell(&targets[i]);
		targets[i].engine->ops->close(targets[i].engine);
		proc_close(targets[i].proc);
	}
	engine_perf_ops.unshare(o.shared);
	printf("timers=%u own=%.4f\n", timers, (double)clock_process_cpu_ns() / 1e9);
	return 0;
}
