/*
 * Samples a process with the perf engine and compares with the CPU time that the kernel accounted:
 * engine_probe PID RATE SECONDS [auto|threads|cpus] [stack=BYTES] [event=NAME] [period=N]
 *   [count: the event is counted besides] [kernel=0] [stall_us=N: a consumer that slow] [seccomp=ERRNO: perf_event_open gives that]
 * One line of KEY=VALUE on stdout, for engine_test.
 */
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/perf/engine_perf.h"
#include "sampler/engine/perf/events/perf_event.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum { TIDS = 1 << 16 };

struct tally {
	struct proc *proc;
	pid_t pid;
	uint64_t cpu1_ns; /* of the target, when sampling ended; 0: it had ended */
	useconds_t stall_us;
	uint64_t from_ns, to_ns; /* weights count between the two readings of the CPU clock */
	uint64_t samples, weight, no_user, kernel, cut, named, exits, execs, mapped, foreign;
	uint64_t stack_bytes, stack_max, first_ns;
	uint64_t late_sum, late_max; /* from the sample to the sink */
	struct {
		pid_t tid;
		uint64_t weight, cpu0, cpu1;
	} threads[TIDS]; /* by tid, open addressing */
};

static unsigned slot(struct tally *t, pid_t tid)
{
	unsigned i = (unsigned)tid % TIDS;

	while (t->threads[i].tid && t->threads[i].tid != tid)
		i = (i + 1) % TIDS;
	t->threads[i].tid = tid;
	return i;
}

static void on_sample(void *ctx, const struct raw_sample *s)
{
	struct tally *t = ctx;
	uint64_t now = clock_monotonic_ns(), late = now - s->time_ns;

	if (!t->samples++)
		t->first_ns = now;
	if (s->time_ns >= t->from_ns && s->time_ns < t->to_ns) {
		t->weight += s->weight;
		t->threads[slot(t, s->tid)].weight += s->weight;
	}
	t->no_user += !s->has_user;
	t->kernel += s->n_kernel > 0;
	t->cut += s->stack_cut;
	t->stack_bytes += s->stack_len;
	if (s->stack_len > t->stack_max)
		t->stack_max = s->stack_len;
	t->late_sum += late;
	if (late > t->late_max)
		t->late_max = late;
	t->foreign += s->pid != proc_pid(t->proc);
	if (t->stall_us)
		usleep(t->stall_us);
}

static void on_thread(void *ctx, pid_t pid, pid_t tid, const char *comm)
{
	(void)pid, (void)tid, (void)comm;
	((struct tally *)ctx)->named++;
}

static void on_exit_(void *ctx, pid_t pid, pid_t tid)
{
	(void)pid, (void)tid;
	((struct tally *)ctx)->exits++;
}

static void on_exec(void *ctx, pid_t pid)
{
	(void)pid;
	((struct tally *)ctx)->execs++;
}

static void on_mapped(void *ctx, pid_t pid)
{
	(void)pid;
	((struct tally *)ctx)->mapped++;
}

static uint64_t cpu_of(pid_t pid)
{
	uint64_t ns;

	return clock_cpu_of_ns(pid, &ns) ? ns : 0;
}

static void on_sampled(void *ctx)
{
	struct tally *t = ctx;

	if (!t->cpu1_ns)
		t->cpu1_ns = cpu_of(t->pid);
}

static void read_threads(struct tally *t, bool end)
{
	pid_t *tids;
	size_t n;

	if (proc_tasks(t->proc, &tids, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		unsigned s = slot(t, tids[i]);
		uint64_t ns = 0;

		proc_thread_cpu_ns(t->proc, tids[i], &ns);
		if (end)
			t->threads[s].cpu1 = ns;
		else
			t->threads[s].cpu0 = ns;
	}
	free(tids);
}

/* The thread that is furthest off, in units of its own CPU time; those with few samples left out. */
static double worst_thread(const struct tally *t, uint64_t period, unsigned *ret_n)
{
	double worst = 0;

	*ret_n = 0;
	for (unsigned i = 0; i < TIDS; i++) {
		double cpu = (double)t->threads[i].cpu1 - (double)t->threads[i].cpu0;

		if (cpu < 100.0 * (double)period)
			continue;
		++*ret_n;
		worst = fmax(worst, fabs((double)t->threads[i].weight / cpu - 1));
	}
	return worst;
}

enum { COUNTERS = 256 };

/* The event, counted by the kernel on every thread that there is now. */
static size_t open_counters(struct tally *t, const char *event, int fds[COUNTERS])
{
	struct perf_event_attr a = {.size = sizeof(a), .exclude_hv = 1, .inherit = 1};
	struct perf_event_spec spec;
	pid_t *tids;
	size_t n, opened = 0;

	if (perf_event_find(event, &spec, NULL) < 0 || proc_tasks(t->proc, &tids, &n) < 0)
		return 0;
	a.type = spec.type;
	a.config = spec.config;
	for (size_t i = 0; i < n && opened < COUNTERS; i++) {
		fds[opened] = (int)syscall(SYS_perf_event_open, &a, tids[i], -1, -1, PERF_FLAG_FD_CLOEXEC);
		opened += fds[opened] >= 0;
	}
	free(tids);
	return opened;
}

static uint64_t read_counters(const int *fds, size_t n)
{
	uint64_t sum = 0, one;

	for (size_t i = 0; i < n; i++)
		if (read(fds[i], &one, sizeof(one)) == sizeof(one))
			sum += one;
	return sum;
}

/* As a container runtime's profile does. */
static void forbid_perf(unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* seccomp_data.nr */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		perror("seccomp");
}

int main(int argc, char **argv)
{
	static struct tally t;
	struct engine_options o = {.event = "cpu", .kernel = true};
	enum perf_attach_mode mode = PERF_ATTACH_AUTO;
	const struct engine_sink sink = {.ctx = &t,
					 .sample = on_sample,
					 .thread = on_thread,
					 .thread_exit = on_exit_,
					 .exec = on_exec,
					 .mapped = on_mapped,
					 .sampled = on_sampled};
	struct engine *e;
	struct err err = {0};
	int fds[COUNTERS];
	size_t n_counters = 0;
	unsigned n_threads;
	double seconds, rate;
	bool count = false;

	if (argc < 4)
		return 2;
	log_set_level(LOG_LEVEL_DEBUG);
	rate = atof(argv[2]);
	seconds = atof(argv[3]);
	o.period = (uint64_t)(1e9 / rate);
	for (int i = 4; i < argc; i++) {
		if (!strcmp(argv[i], "threads"))
			mode = PERF_ATTACH_THREADS;
		else if (!strcmp(argv[i], "cpus"))
			mode = PERF_ATTACH_CPUS;
		else if (!strncmp(argv[i], "stack=", 6))
			o.stack_bytes = (uint32_t)atoi(argv[i] + 6);
		else if (!strncmp(argv[i], "event=", 6))
			o.event = argv[i] + 6;
		else if (!strncmp(argv[i], "period=", 7))
			o.period = strtoull(argv[i] + 7, NULL, 10);
		else if (!strcmp(argv[i], "count"))
			count = true;
		else if (!strcmp(argv[i], "kernel=0"))
			o.kernel = false;
		else if (!strncmp(argv[i], "stall_us=", 9))
			t.stall_us = (useconds_t)atoi(argv[i] + 9);
		else if (!strncmp(argv[i], "seccomp=", 8))
			forbid_perf((unsigned)atoi(argv[i] + 8));
	}

	t.pid = atoi(argv[1]);

	uint64_t t0 = clock_monotonic_ns();

	if (proc_open(atoi(argv[1]), &t.proc, &err) < 0 || engine_perf_open(t.proc, &o, mode, &e, &err) < 0 ||
	    e->ops->start(e, &err) < 0) {
		fprintf(stderr, "engine_probe: %s\n", err.msg);
		return 1;
	}

	if (count)
		n_counters = open_counters(&t, o.event, fds);

	uint64_t t1 = clock_monotonic_ns();
	uint64_t cpu0 = cpu_of(atoi(argv[1])), own0 = clock_process_cpu_ns();

	t.from_ns = clock_monotonic_ns();

	uint64_t counted = read_counters(fds, n_counters);

	t.to_ns = UINT64_MAX;

	read_threads(&t, false);
	if (e->ops->run(e, &sink, t1 + (uint64_t)(seconds * 1e9), &err) < 0) {
		fprintf(stderr, "engine_probe: %s\n", err.msg);
		return 1;
	}

	uint64_t cpu1 = t.cpu1_ns, own1 = clock_process_cpu_ns();

	counted = read_counters(fds, n_counters) - counted;
	t.to_ns = clock_monotonic_ns();
	if (cpu1 < cpu0) /* it ended */
		cpu1 = cpu0;

	uint64_t t2 = clock_monotonic_ns();

	e->ops->stop(e);
	read_threads(&t, true);
	e->ops->run(e, &sink, 0, &err);

	struct engine_stats s = e->ops->stats(e);
	struct perf_drain_stats d = engine_perf_drain_stats(e);
	double worst = worst_thread(&t, o.period, &n_threads);

	printf("mode=\"%s\" open_ms=%.1f first_ms=%.1f wall_s=%.2f cpu_s=%.4f sampled_s=%.4f "
	       "ratio=%.4f threads_checked=%u worst_thread=%.4f samples=%llu lost_ring=%llu "
	       "lost_queue=%llu throttled=%llu foreign=%llu malformed=%llu kernel=%llu no_user=%llu "
	       "cut=%llu "
	       "deep=%llu joined=%llu refused=%llu stack=%u stack_avg=%.0f stack_max=%llu "
	       "named=%llu exits=%llu execs=%llu mapped=%llu threads=%u no_kernel=%d ended=%d "
	       "own_cpu=%.5f own_us_per_sample=%.1f late_avg_ms=%.1f late_max_ms=%.1f "
	       "weight=%llu counted=%llu by_thread=%d\n",
	       s.attachment, (double)(t1 - t0) / 1e6, t.samples ? (double)(t.first_ns - t0) / 1e6 : -1,
	       (double)(t2 - t1) / 1e9, (double)(cpu1 - cpu0) / 1e9, (double)t.weight / 1e9,
	       cpu1 > cpu0 ? (double)t.weight / (double)(cpu1 - cpu0) : -1, n_threads, worst,
	       (unsigned long long)s.samples, (unsigned long long)s.lost_ring, (unsigned long long)s.lost_queue,
	       (unsigned long long)s.throttled, (unsigned long long)(d.in.foreign + t.foreign),
	       (unsigned long long)d.in.malformed, (unsigned long long)t.kernel, (unsigned long long)t.no_user,
	       (unsigned long long)t.cut, (unsigned long long)d.in.cut, (unsigned long long)d.in.rest_joined,
	       (unsigned long long)d.in.rest_refused, s.stack_bytes,
	       t.samples ? (double)t.stack_bytes / (double)t.samples : 0.0, (unsigned long long)t.stack_max,
	       (unsigned long long)t.named, (unsigned long long)t.exits, (unsigned long long)t.execs,
	       (unsigned long long)t.mapped, s.threads, s.no_kernel, e->ops->target_ended(e),
	       (double)(own1 - own0) / (double)(t2 - t1),
	       t.samples ? (double)(own1 - own0) / 1e3 / (double)t.samples : 0.0,
	       t.samples ? (double)t.late_sum / 1e6 / (double)t.samples : 0.0, (double)t.late_max / 1e6,
	       (unsigned long long)t.weight, (unsigned long long)counted, d.on == PERF_ON_THREADS);
	e->ops->close(e);
	proc_close(t.proc);
	return 0;
}
