/*
 * Prints the Java frames of every Java thread of a JVM, walked from outside, for comparison with the
 * JVM's own thread dump:
 *
 *     stack_dump PID        threads are stopped with ptrace: all registers
 *     stack_dump PID look   blocked threads are only looked at: sp and pc of /proc/PID/task/TID/syscall
 *
 *     thread 1234 end 0 resynchronised 0 frozen 0 frames 31
 *         java/lang/Thread.sleep
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "sampler/unwind/unwinder.h"
#include "stack_dump_view.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

enum { MAX_NAMES = 20000 };

static void print_walk(struct view *v, const struct walk *walk, int tid)
{
	static struct view_frame name[MAX_NAMES];
	size_t physical, n = view_names(v, walk, name, MAX_NAMES, &physical);

	printf("thread %d end %d resynchronised %d frozen %d frames %u pc %llx sp %llx\n", tid, walk->end,
	       walk->resynchronised, walk->frozen, walk->n, (unsigned long long)walk->fail_pc,
	       (unsigned long long)walk->fail_sp);
	for (size_t i = 0; i < n; i++)
		printf("    %s\n", name[i].name);
}

static bool stopped_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = {regs, sizeof(*regs)};
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return false;
	return ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && waitpid(tid, &status, __WALL) == tid &&
	       ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) == 0;
}

/* "nr arg1 ... arg6 sp pc" (proc(5)); "running" while it runs. */
static bool looked_at(struct view *v, pid_t tid, struct raw_sample *s)
{
	char *text = NULL;
	unsigned long long word[8];
	int nr;
	size_t len;
	bool ok;

	if (proc_read_task(v->proc, tid, "syscall", 4096, &text, &len) < 0)
		return false;
	ok = sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &word[0], &word[1], &word[2], &word[3],
		    &word[4], &word[5], &word[6], &word[7]) == 9;
	free(text);
	if (!ok)
		return false;
	memset(s, 0, sizeof(*s));
	s->has_user = true;
	s->stack_addr = word[6];
	regs_set(&s->regs, X86_RSP, word[6]);
	regs_set(&s->regs, X86_RIP, word[7]);
	return true;
}

static void dump_thread(struct view *v, pid_t pid, pid_t tid, bool look)
{
	struct user_regs_struct regs;
	struct raw_sample s;
	struct walk walk;
	bool ok;

	if (look) {
		ok = looked_at(v, tid, &s);
	} else {
		ok = stopped_regs(tid, &regs);
		if (ok)
			view_sample(&s, pid, tid, &regs);
	}
	if (ok) {
		unwinder_walk(v->unwinder, &s, tid, &walk);
		print_walk(v, &walk, tid);
	}
	if (!look)
		ptrace(PTRACE_DETACH, tid, 0, 0);
}

int main(int argc, char **argv)
{
	struct view v;
	pid_t pid;
	size_t n;

	if (argc < 2) {
		fprintf(stderr, "usage: stack_dump PID [look]\n");
		return 2;
	}
	pid = atoi(argv[1]);
	if (!view_open(&v, pid))
		return 1;
	hs_thread_refresh(v.hs);
	n = hs_thread_count(v.hs);
	for (size_t i = 0; i < n && i < hs_thread_count(v.hs); i++)
		dump_thread(&v, pid, hs_thread_at(v.hs, i)->ns_tid, argc > 2);
	view_close(&v);
	return 0;
}
