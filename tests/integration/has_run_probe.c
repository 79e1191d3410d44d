/*
 * Measures ThreadHasRun and the price of asking.
 *
 *     has_run_probe judge PID TICK_US TICKS    by thread name: the register checksum, and the verdict with the
 *                                              second opinion, against the kernel's account
 *     has_run_probe cost PID TICK_US TICKS each|once    each: seized for every stop; once: seized at the
 *                                              start, continued after a stop
 *     has_run_probe record PID 20000 1         register sets of all threads, for tests/fixtures/has_run
 *
 * judge prints: NAME looks 500 ran 480 sum_hit 478 sum_miss 2 sum_false 0 hit 480 miss 0 false 0
 * record prints: NAME look|stop CALL RESULT DISTURBED CPU_NS WAIT_NS SLICES KNOWN R0 R1 ... (by DWARF number)
 * cost prints:  stops 1000 own_us 12.1 pause_p50_us 8.0 pause_p99_us 31.0 stop_p50_us 14.0
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "sampler/engine/suspend/has_run.h"
#include "sampler/engine/suspend/ptrace_stop.h"
#include "sampler/engine/suspend/suspend_threads.h"
#include "sampler/engine/suspend_stats.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

enum { KINDS = 64 };

struct tally {
	char name[16];
	unsigned looks, ran, sum_hit, sum_miss, sum_false, hit, miss, false_alarm;
};

static struct tally kinds[KINDS];
static struct suspend_threads threads;

static struct tally *tally_of(struct proc *p, pid_t tid)
{
	char name[16] = "?";

	proc_comm(p, tid, name, sizeof(name));
	for (int i = 0; i < KINDS; i++) {
		if (!kinds[i].name[0])
			snprintf(kinds[i].name, sizeof(kinds[i].name), "%s", name);
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	}
	return NULL;
}

static bool stop(pid_t tid, struct ptrace_stop_regs *ret, struct suspend_thread *th, struct has_run_account *a)
{
	struct ptrace_stop_event e;
	struct ptrace_stop_regs r;

	if (ptrace_stop_ask(tid) < 0)
		return false;
	while (!ptrace_stop_next(&e))
		;
	if (e.ended || ptrace_stop_regs(tid, &r) < 0 || suspend_thread_account(&threads, th, a) < 0)
		return false;
	*ret = r;
	if (r.result == -EINTR && r.set.call >= 0)
		ptrace_stop_rewind(tid, -1, 0);
	ptrace_stop_release(tid, e.signal);
	return true;
}

static bool look(struct suspend_thread *th, struct has_run_look *ret)
{
	struct has_run_account after;
	struct ptrace_stop_regs r;
	struct has_run_set set;

	*ret = (struct has_run_look){0};
	if (suspend_thread_account(&threads, th, &ret->account) < 0)
		return false;
	if (suspend_thread_state(&threads, th->tid) == 'R') {
		if (!stop(th->tid, &r, th, &ret->account))
			return false;
		set = r.set;
		ret->disturbed = true;
	} else if (suspend_thread_position(&threads, th, &set) < 0 ||
		   suspend_thread_account(&threads, th, &after) < 0 || !has_run_account_equal(&ret->account, &after)) {
		return false;
	}
	ret->checksum = has_run_host()->checksum(&set);
	return true;
}

/* The truth is the kernel's account, read while the thread is off the CPU, less what the stop cost it. */
static void compare(struct tally *k, const struct has_run_look *before, const struct has_run_look *now)
{
	uint64_t used = now->account.cpu_ns - before->account.cpu_ns;
	bool ran = before->disturbed ? used > HAS_RUN_STOP_NS : !has_run_account_equal(&before->account, &now->account);
	bool sum = before->checksum != now->checksum, told = has_run_judge(before, now) != HAS_NOT_RUN;

	k->looks++;
	k->ran += ran;
	k->sum_hit += sum && ran;
	k->sum_miss += !sum && ran;
	k->sum_false += sum && !ran;
	k->hit += told && ran;
	k->miss += !told && ran;
	k->false_alarm += told && !ran;
}

static void judge_one(struct proc *p, struct suspend_thread *th)
{
	struct tally *k = tally_of(p, th->tid);
	struct has_run_look now;

	if (!look(th, &now) || !k)
		return;
	if (th->looked)
		compare(k, &th->look, &now);
	th->look = now;
	th->looked = true;
}

static void nothing(void *ctx, struct suspend_thread *th)
{
	(void)ctx;
	(void)th;
}

static void wait_us(long us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static void judge(struct proc *p, long tick_us, long ticks)
{
	for (long i = 0; i < ticks; i++) {
		struct suspend_thread *th, *next;

		suspend_threads_refresh(&threads, clock_monotonic_ns(), nothing, nothing, NULL);
		HASH_ITER(hh, threads.by_tid, th, next)
		judge_one(p, th);
		wait_us(tick_us);
	}
	for (int i = 0; i < KINDS && kinds[i].name[0]; i++)
		printf("%s looks %u ran %u sum_hit %u sum_miss %u sum_false %u hit %u miss %u false %u\n",
		       kinds[i].name, kinds[i].looks, kinds[i].ran, kinds[i].sum_hit, kinds[i].sum_miss,
		       kinds[i].sum_false, kinds[i].hit, kinds[i].miss, kinds[i].false_alarm);
}

static void print_set(struct proc *p, pid_t tid, const struct ptrace_stop_regs *r, const struct has_run_account *a,
		      bool stopped)
{
	char name[16] = "?";

	proc_comm(p, tid, name, sizeof(name));
	for (char *c = name; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	printf("%s %s %lld %lld %d %llu %llu %llu %llx", name, stopped ? "stop" : "look", (long long)r->set.call,
	       (long long)r->result, stopped, (unsigned long long)a->cpu_ns, (unsigned long long)a->wait_ns,
	       (unsigned long long)a->slices, (unsigned long long)r->set.regs.known);
	for (unsigned i = 0; i < X86_REGS; i++)
		printf(" %llx", (unsigned long long)r->set.regs.r[i]);
	putchar('\n');
}

/* Twice: a look at one that is blocked, then a stop, which interrupts its call. */
static void record_one(struct proc *p, struct suspend_thread *th, long pause_us)
{
	for (int i = 0; i < 2; i++) {
		struct ptrace_stop_regs r = {0};
		struct has_run_account a;

		if (suspend_thread_position(&threads, th, &r.set) == 0 && suspend_thread_account(&threads, th, &a) == 0)
			print_set(p, th->tid, &r, &a, false);
		if (stop(th->tid, &r, th, &a))
			print_set(p, th->tid, &r, &a, true);
		wait_us(pause_us);
	}
}

static void record(struct proc *p, long pause_us)
{
	struct suspend_thread *th, *next;

	suspend_threads_refresh(&threads, clock_monotonic_ns(), nothing, nothing, NULL);
	HASH_ITER(hh, threads.by_tid, th, next)
	record_one(p, th, pause_us);
}

/* One stop of a running thread, registers and all. */
static void stop_once(pid_t tid, bool once, struct suspend_times *stops, struct suspend_times *pauses)
{
	uint64_t asked = clock_monotonic_ns(), stopped;
	struct ptrace_stop_regs r;
	int status;

	if (!once && ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return;
	stopped = clock_monotonic_ns();
	ptrace_stop_regs(tid, &r);
	ptrace(once ? PTRACE_CONT : PTRACE_DETACH, tid, NULL, NULL);
	suspend_times_add(stops, stopped - asked);
	suspend_times_add(pauses, clock_monotonic_ns() - stopped);
}

static void cost(long tick_us, long ticks, bool once)
{
	static struct suspend_times stops, pauses;
	struct suspend_thread *th, *next;
	struct suspend_quantiles s, p;
	uint64_t own;

	suspend_threads_refresh(&threads, clock_monotonic_ns(), nothing, nothing, NULL);
	HASH_ITER(hh, threads.by_tid, th, next)
	th->asleep = suspend_thread_state(&threads, th->tid) != 'R' ||
		     (once && ptrace(PTRACE_SEIZE, th->tid, NULL, NULL) < 0);
	own = clock_thread_cpu_ns();
	for (long i = 0; i < ticks; i++) {
		HASH_ITER(hh, threads.by_tid, th, next)
		if (!th->asleep)
			stop_once(th->tid, once, &stops, &pauses);
		wait_us(tick_us);
	}
	own = clock_thread_cpu_ns() - own;
	s = suspend_times_of(&stops);
	p = suspend_times_of(&pauses);
	printf("stops %llu own_us %.1f pause_p50_us %.1f pause_p99_us %.1f stop_p50_us %.1f stop_p99_us %.1f\n",
	       (unsigned long long)s.n, s.n ? (double)own / 1e3 / (double)s.n : 0, (double)p.p50_ns / 1e3,
	       (double)p.p99_ns / 1e3, (double)s.p50_ns / 1e3, (double)s.p99_ns / 1e3);
}

int main(int argc, char **argv)
{
	struct proc *p;

	if (argc < 5 || proc_open(atoi(argv[2]), &p, NULL) < 0) {
		fprintf(stderr, "usage: has_run_probe judge|record|cost PID TICK_US TICKS [each|once]\n");
		return 2;
	}
	suspend_threads_init(&threads, p);
	if (strcmp(argv[1], "judge") == 0)
		judge(p, atol(argv[3]), atol(argv[4]));
	else if (strcmp(argv[1], "record") == 0)
		record(p, atol(argv[3]));
	else
		cost(atol(argv[3]), atol(argv[4]), argc > 5 && strcmp(argv[5], "once") == 0);
	suspend_threads_done(&threads);
	proc_close(p);
	return 0;
}
