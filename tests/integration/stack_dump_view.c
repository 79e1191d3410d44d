#include "stack_dump_view.h"

#include <stdio.h>
#include <string.h>

#include "sampler/unwind/unwinder.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

struct libjvm {
	struct dso *dso;
	uint64_t bias;
};

static bool find_symbol(void *ctx, const char *name, uint64_t *ret)
{
	struct libjvm *l = ctx;
	uint64_t vaddr, size;

	if (!l->dso || dso_find_variable(l->dso, name, &vaddr, &size) < 0)
		return false;
	*ret = vaddr + l->bias;
	return true;
}

static int open_parts(struct view *v, pid_t pid, struct err *err)
{
	struct libjvm lib = {0};
	uint32_t id;
	int r;

	if ((r = proc_open(pid, &v->proc, err)) < 0 || (r = maps_open(v->proc, NULL, &v->maps, err)) < 0 ||
	    (r = mem_live_open(v->proc, &v->mem, err)) < 0 ||
	    (r = modmap_open(v->proc, v->maps, v->mem, NULL, &v->modmap, err)) < 0)
		return r;
	if ((r = modmap_find_dso(v->modmap, "libjvm.so", &id, &lib.bias)) < 0)
		return err_set(err, r, "PID %d has no libjvm.so", (int)pid);
	lib.dso = modmap_dso(v->modmap, id);
	if ((r = hotspot_open(v->mem, find_symbol, &lib, &v->hs, err)) < 0)
		return r;
	v->major = hotspot_version(v->hs)->major;
	v->unwinder = unwinder_new(v->modmap, v->hs, v->mem, (struct unwinder_options){.kernel = true, .live = true});
	return v->unwinder ? 0 : err_set(err, -1, "no memory");
}

bool view_open(struct view *v, pid_t pid)
{
	struct err err = {0};

	memset(v, 0, sizeof(*v));
	if (open_parts(v, pid, &err) == 0)
		return true;
	fprintf(stderr, "%s\n", err.msg);
	view_close(v);
	return false;
}

void view_close(struct view *v)
{
	unwinder_free(v->unwinder);
	hotspot_close(v->hs);
	modmap_close(v->modmap);
	mem_free(v->mem);
	maps_close(v->maps);
	proc_close(v->proc);
	memset(v, 0, sizeof(*v));
}

void view_sample(struct raw_sample *s, pid_t pid, pid_t tid, const struct user_regs_struct *regs)
{
	const uint64_t value[X86_REGS] = {
		[X86_RAX] = regs->rax, [X86_RDX] = regs->rdx, [X86_RCX] = regs->rcx, [X86_RBX] = regs->rbx,
		[X86_RSI] = regs->rsi, [X86_RDI] = regs->rdi, [X86_RBP] = regs->rbp, [X86_RSP] = regs->rsp,
		[X86_R8] = regs->r8,   [X86_R9] = regs->r9,   [X86_R10] = regs->r10, [X86_R11] = regs->r11,
		[X86_R12] = regs->r12, [X86_R13] = regs->r13, [X86_R14] = regs->r14, [X86_R15] = regs->r15,
		[X86_RIP] = regs->rip,
	};

	memset(s, 0, sizeof(*s));
	s->pid = pid;
	s->tid = tid;
	s->time_ns = clock_monotonic_ns();
	s->has_user = true;
	s->stack_addr = regs->rsp;
	for (unsigned i = 0; i < X86_REGS; i++)
		regs_set(&s->regs, i, value[i]);
}

static void name_method(struct view *v, uint32_t id, struct view_frame *f)
{
	const struct hs_method *m = hs_method(v->hs, id);

	snprintf(f->name, sizeof(f->name), "%s.%s", m ? m->class_name : "?", m ? m->name : "?");
}

static const struct code_record *find_record(const struct code *c, int64_t off)
{
	for (uint32_t i = 0; i < c->n_records; i++)
		if (c->records[i].pc_offset == off)
			return &c->records[i];
	return NULL;
}

static size_t name_compiled(struct view *v, const struct frame_key *k, struct view_frame *ret, size_t max)
{
	const struct code *c = hs_code(v->hs, k->id);
	const struct code_record *rec = NULL;
	struct code_scope scope[CODE_MAX_SCOPES];
	size_t n = 0;

	if (!(k->flags & FRAME_PC_EXACT))
		rec = find_record(c, k->off);
	if (rec)
		n = code_scopes_at(c, v->major, rec->scope_offset, scope, CODE_MAX_SCOPES);
	if (!n) {
		name_method(v, c->method_id, ret);
		return 1;
	}
	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++)
		name_method(v, scope[i].method_id, &ret[i]);
	return n;
}

size_t view_names(struct view *v, const struct walk *walk, struct view_frame *ret, size_t max, size_t *physical)
{
	size_t n = 0;

	*physical = 0;
	for (uint32_t i = 0; i < walk->n && n < max; i++) {
		const struct frame_key *k = &walk->frames[i];

		if (k->kind != FRAME_INTERPRETED && k->kind != FRAME_COMPILED)
			continue;
		++*physical;
		ret[n].interpreted = k->kind == FRAME_INTERPRETED;
		if (k->kind == FRAME_COMPILED)
			n += name_compiled(v, k, &ret[n], max - n);
		else
			name_method(v, k->id, &ret[n++]);
	}
	return n;
}
