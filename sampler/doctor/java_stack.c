#include "sampler/doctor/java_stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sampler/doctor/thread_dump.h"
#include "sampler/readers/readers.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/proc.h"

/* Further frames are not compared, because a dump does not show them. */
enum { MAX_NAMES = THREAD_DUMP_DEPTH, MAX_SYSCALL_TEXT = 512 };

/* "nr arg1 ... arg6 sp pc", "-1 sp pc" in a page fault and the like, or "running". */
static int read_position(struct proc *p, pid_t tid, uint64_t *sp, uint64_t *pc)
{
	CLEANUP(free_at_exit) char *text = NULL;
	unsigned long long a, b;
	size_t len;
	int r;

	r = proc_read_task(p, tid, "syscall", MAX_SYSCALL_TEXT, &text, &len);
	if (r < 0)
		return r;
	if (sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx %llx", &a, &b) != 2)
		return -EAGAIN;
	*sp = a;
	*pc = b;
	return 0;
}

static void add_name(struct java_stack *s, const struct hs_method *m)
{
	char name[1024];

	if (s->n == MAX_NAMES)
		return;
	snprintf(name, sizeof(name), "%s.%s", m ? m->class_name : "?", m ? m->name : "?");
	thread_dump_plain_name(name);
	buf_add(&s->names, name, strlen(name) + 1);
	s->n++;
}

/* Each call has a record at its return address (JDK src/hotspot/share/code/debugInfoRec.cpp, 17). */
static const struct code_record *find_record(const struct code *c, int64_t off)
{
	for (uint32_t i = 0; i < c->n_records; i++)
		if (c->records[i].pc_offset == off)
			return &c->records[i];
	return NULL;
}

static void add_compiled(struct java_stack *s, struct hotspot *hs, const struct frame_key *k)
{
	const struct code *c = hs_code(hs, k->id);
	const struct code_record *rec = k->flags & FRAME_PC_EXACT ? NULL : find_record(c, k->off);
	struct code_scope scope[CODE_MAX_SCOPES];
	size_t n = 0;

	if (rec)
		n = code_scopes_at(c, hotspot_version(hs)->major, rec->scope_offset, scope, CODE_MAX_SCOPES);
	for (size_t i = 0; i < n; i++)
		add_name(s, hs_method(hs, scope[i].method_id));
	if (!n)
		add_name(s, hs_method(hs, c->method_id));
}

static void add_names(struct java_stack *s, struct hotspot *hs, const struct walk *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		if (w->frames[i].kind == FRAME_INTERPRETED)
			add_name(s, hs_method(hs, w->frames[i].id));
		else if (w->frames[i].kind == FRAME_COMPILED)
			add_compiled(s, hs, &w->frames[i]);
	}
}

int java_stack_read(struct readers *v, struct proc *p, pid_t tid, int32_t ns_tid, struct java_stack *ret)
{
	struct java_stack s = {0};
	struct raw_sample sample = {.pid = proc_pid(p), .tid = tid, .has_user = true};
	struct walk w;
	int r = proc_thread_cpu_ns(p, tid, &s.cpu_ns);

	if (r == 0)
		r = read_position(p, tid, &s.sp, &s.pc);
	if (r < 0)
		return r;
	mem_new_sample(v->mem);
	sample.stack_addr = s.sp;
	regs_set(&sample.regs, arch_host()->sp, s.sp);
	regs_set(&sample.regs, arch_host()->pc, s.pc);
	unwinder_walk(v->unwinder, &sample, ns_tid, &w);
	s.complete = w.end == WALK_ROOT;
	s.frozen = w.frozen;
	add_names(&s, v->hs, &w);
	if (s.names.failed || !java_stack_unchanged(p, tid, &s)) {
		r = s.names.failed ? -ENOMEM : -EAGAIN;
		java_stack_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}

bool java_stack_unchanged(struct proc *p, pid_t tid, const struct java_stack *s)
{
	uint64_t sp, pc, cpu_ns;

	return read_position(p, tid, &sp, &pc) == 0 && sp == s->sp && pc == s->pc &&
	       proc_thread_cpu_ns(p, tid, &cpu_ns) == 0 && cpu_ns == s->cpu_ns;
}

void java_stack_done(struct java_stack *s)
{
	buf_done(&s->names);
	*s = (struct java_stack){0};
}
