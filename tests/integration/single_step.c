/*
 * Steps one thread of a JVM that runs tests/java/step/Step.java through its instructions, walks its
 * stack from every instruction boundary in generated code, and requires what the program's source
 * says: every caller one that calls this callee, nothing missing out to Thread.run, the thread's
 * first native frame reached without a gap. Between bursts the thread runs freely.
 *
 *     single_step PID THREAD-NAME STEPS [virtual]
 *
 * virtual: a carrier that runs tests/java/step/Yielding.java, where frames may lie in the heap.
 *
 * The only place besides stack_dump.c where a target is traced: tests may.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <elf.h>

#include "sampler/unwind/unwinder.h"
#include "single_step_edges.h"
#include "stack_dump_view.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/reader/hs_arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

enum {
	BURST = 1000, /* walks in generated code before the thread runs freely again */
	BURST_STEPS = 60000, /* instructions of any kind in one burst */
	MOST_NATIVE = 60, /* instructions of any kind for one that is wanted */
	NATIVE_EVERY = 50, /* native code: walks at every 50th instruction */
	COPIED = 2048, /* stack bytes handed over as copied; the rest is read live */
	MAX_NAMES = 512,
	MAX_SHOWN = 8, /* failures printed */
	REPLAYS = 2000,
};

struct test {
	struct view v;
	pid_t pid, tid;
	int32_t ns_tid;
	uint64_t want;
	bool is_virtual;

	struct user_regs_struct regs;
	uint8_t stack[COPIED];
	struct walk walk;
	struct view_frame name[MAX_NAMES];
	size_t n_names, physical;
	const char *why; /* of a failure */

	bool last_java; /* the instruction before this one was in generated code */
	size_t last_physical;

	uint64_t java, native, steps, failures;
	uint64_t kind[BLOB_BUFFER + 1];
	uint64_t walks, walk_ns, frames;
};

static bool wait_stop(struct test *t, int *status)
{
	while (waitpid(t->tid, status, __WALL) < 0)
		if (errno != EINTR)
			return false;
	return WIFSTOPPED(*status);
}

static bool get_regs(struct test *t)
{
	struct iovec iov = {&t->regs, sizeof(t->regs)};

	return ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &iov) == 0;
}

/* One instruction; signals that arrive meanwhile are delivered, as they would be without us. */
static bool step(struct test *t, int *signal)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, *signal) < 0 || !wait_stop(t, &status))
		return false;
	*signal = status >> 16 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	return get_regs(t);
}

static void walk(struct test *t)
{
	struct raw_sample s;
	uint64_t start;

	view_sample(&s, t->pid, t->tid, &t->regs);
	mem_new_sample(t->v.mem);
	s.stack = t->stack;
	s.stack_len = mem_read_some(t->v.mem, s.stack_addr, t->stack, sizeof(t->stack));
	start = clock_thread_cpu_ns();
	unwinder_walk(t->v.unwinder, &s, t->ns_tid, &t->walk);
	t->walk_ns += clock_thread_cpu_ns() - start;
	t->frames += t->walk.n;
	t->walks++;
	t->n_names = view_names(&t->v, &t->walk, t->name, MAX_NAMES, &t->physical);
}

static const char *check_end(const struct test *t)
{
	if (t->walk.end != WALK_ROOT)
		return "the first frame was not reached";
	if (t->walk.resynchronised)
		return "resynchronised";
	return t->walk.frozen && !t->is_virtual ? "frozen" : NULL;
}

static const char *check_names(const struct test *t)
{
	const char *base = t->is_virtual ? "java/util/concurrent/ForkJoinWorkerThread.run" : "java/lang/Thread.run";
	size_t n = t->n_names;

	for (size_t i = 0; i + 1 < n; i++)
		if (!edge_allowed(t->name[i + 1].name, t->name[i].name))
			return "no such call in the program";
	if (n < 1 || strcmp(t->name[n - 1].name, base) != 0)
		return "the thread's first method is not outermost";
	return NULL;
}

/* An instruction makes or ends one activation; in deoptimisation several come out of one, and
 * thawing makes many. */
static const char *check_depth(const struct test *t, enum blob_kind kind)
{
	size_t more = t->physical > t->last_physical ? t->physical - t->last_physical : t->last_physical - t->physical;

	if (t->is_virtual || !t->last_java || kind == BLOB_DEOPT || kind == BLOB_RUNTIME)
		return NULL;
	return more > 1 ? "the depth jumped" : NULL;
}

static void print_bytes(struct test *t, uint64_t pc)
{
	uint8_t b[32];
	uint32_t n = hs_code_bytes(t->v.hs, pc - 16, b, sizeof(b));

	printf("    code:");
	for (uint32_t i = 0; i < n; i++)
		printf("%s%02x", i == 16 ? " | " : " ", b[i]);
	printf("\n");
}

static void print_failure(struct test *t, const char *why)
{
	const struct user_regs_struct *r = &t->regs;
	const struct code *c = hs_code(t->v.hs, hs_code_find(t->v.hs, r->rip));

	printf("FAILED: %s, end %d at pc %llx sp %llx\n", why, t->walk.end, (unsigned long long)t->walk.fail_pc,
	       (unsigned long long)t->walk.fail_sp);
	if (c) {
		const char *name = hs_stub_name(t->v.hs, c, r->rip - c->begin);

		printf("    pc %llx = %s (%s, kind %d) + %llx, frame size %d, complete at %x, "
		       "entry %x\n",
		       r->rip, c->name, name ? name : "-", c->kind, r->rip - c->begin, c->frame_size, c->frame_complete,
		       c->verified_entry);
		print_bytes(t, r->rip);
	}
	printf("    rsp %llx rbp %llx rbx %llx r13 %llx rax %llx rdx %llx\n", r->rsp, r->rbp, r->rbx, r->r13, r->rax,
	       r->rdx);
	for (uint32_t i = 0; i < t->walk.n && i < 12; i++)
		printf("    key %d flags %d id %u off %llx\n", t->walk.frames[i].kind, t->walk.frames[i].flags,
		       t->walk.frames[i].id, (unsigned long long)t->walk.frames[i].off);
	for (size_t i = 0; i < t->n_names; i++)
		printf("    %s%s\n", t->name[i].name, t->name[i].interpreted ? " (interpreted)" : "");
	fflush(stdout);
}

static void check_java(struct test *t)
{
	const struct code *c;
	enum blob_kind kind;
	const char *why;

	walk(t);
	c = hs_code(t->v.hs, hs_code_find(t->v.hs, t->regs.rip));
	kind = c ? c->kind : BLOB_BUFFER;
	t->kind[kind]++;
	t->java++;
	why = check_end(t);
	why = why ? why : check_names(t);
	why = why ? why : check_depth(t, kind);
	if (why && t->failures++ < MAX_SHOWN)
		print_failure(t, why);
	t->last_java = true;
	t->last_physical = t->physical;
}

static void check_native(struct test *t)
{
	const char *why;

	t->last_java = false;
	if (t->native++ % NATIVE_EVERY)
		return;
	walk(t);
	why = check_end(t);
	why = why ? why : check_names(t);
	if (why && t->failures++ < MAX_SHOWN)
		print_failure(t, why);
}

/* What a walk costs when everything about its code is known, as it soon is in a profile. */
static void measure_replay(struct test *t)
{
	static uint8_t stack[16384];
	struct raw_sample s;
	uint64_t start;

	view_sample(&s, t->pid, t->tid, &t->regs);
	mem_new_sample(t->v.mem);
	s.stack = stack;
	s.stack_len = mem_read_some(t->v.mem, s.stack_addr, stack, sizeof(stack));
	start = clock_thread_cpu_ns();
	for (int i = 0; i < REPLAYS; i++)
		unwinder_walk(t->v.unwinder, &s, t->ns_tid, &t->walk);
	printf("replayed: %.2f us a walk of %u frames; ", (double)(clock_thread_cpu_ns() - start) / 1e3 / REPLAYS,
	       t->walk.n);
}

static bool run_burst(struct test *t)
{
	uint64_t end = t->java + BURST;
	int status, signal = 0;

	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0 || !wait_stop(t, &status) || !get_regs(t))
		return false;
	t->last_java = false;
	for (int i = 0; i < BURST_STEPS && t->java < end && t->java < t->want; i++) {
		if (hs_in_code_cache(t->v.hs, t->regs.rip))
			check_java(t);
		else
			check_native(t);
		t->steps++;
		if (!step(t, &signal))
			return false;
	}
	if (t->java >= t->want)
		measure_replay(t);
	return ptrace(PTRACE_CONT, t->tid, 0, signal) == 0;
}

static bool run(struct test *t)
{
	const struct timespec pause = {0, 3000000};

	if (ptrace(PTRACE_SEIZE, t->tid, 0, 0) < 0) {
		perror("PTRACE_SEIZE");
		return false;
	}
	while (t->java < t->want && t->steps < MOST_NATIVE * t->want) {
		if (!run_burst(t)) {
			fprintf(stderr, "the thread is gone\n");
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

static pid_t find_thread(struct proc *p, const char *name)
{
	pid_t *tids, found = 0;
	size_t n;
	char comm[32];

	if (proc_tasks(p, &tids, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && !found; i++)
		if (proc_comm(p, tids[i], comm, sizeof(comm)) == 0 && strcmp(comm, name) == 0)
			found = tids[i];
	free(tids);
	return found;
}

static void print_summary(const struct test *t)
{
	static const char *const kind[] = {"nmethod",     "native wrapper", "method handle intrinsic",
					   "interpreter", "adapter",        "vtable",
					   "stub",        "runtime",        "deopt",
					   "safepoint",   "exception",      "upcall",
					   "buffer"};

	printf("%llu instructions, %llu walks in generated code, %llu native instructions, %llu failures",
	       (unsigned long long)t->steps, (unsigned long long)t->java, (unsigned long long)t->native,
	       (unsigned long long)t->failures);
	printf("; %.1f us a walk of %.1f frames\n   ", t->walks ? (double)t->walk_ns / 1e3 / (double)t->walks : 0,
	       t->walks ? (double)t->frames / (double)t->walks : 0);
	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		if (t->kind[i])
			printf(" %s %llu", kind[i], (unsigned long long)t->kind[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct test t;
	bool ok;

	if (argc < 4) {
		fprintf(stderr, "usage: single_step PID THREAD STEPS [virtual]\n");
		return 2;
	}
	t.pid = atoi(argv[1]);
	t.want = strtoull(argv[3], NULL, 10);
	t.is_virtual = argc > 4;
	if (!view_open(&t.v, t.pid))
		return 1;
	t.tid = find_thread(t.v.proc, argv[2]);
	if (!t.tid || proc_ns_tid(t.v.proc, t.tid, &t.ns_tid) < 0) {
		fprintf(stderr, "no thread %s\n", argv[2]);
		return 1;
	}
	ok = run(&t);
	print_summary(&t);
	ok &= t.failures == 0 && t.java >= t.want / 2;
	view_close(&t.v);
	return ok ? 0 : 1;
}
