#include <Zydis/Zydis.h>
#include <stdlib.h>

#include "sampler/unwind/flow.h"
#include "sampler/unwind/flow_insn.h"
#include "sampler/unwind/flow_state_x86_64.h"

enum { MAX_FORKS = 24, VISITED_BITS = 13 };

struct flow {
	ZydisDecoder decoder;
	struct flow_state now;
	struct flow_state fork[MAX_FORKS]; /* branches not taken yet; the newest first */
	unsigned n_forks;
	uint64_t visited[1 << VISITED_BITS]; /* pcs, open addressing */
	uint16_t used[1 << VISITED_BITS]; /* the occupied places of `visited`, to be emptied */
	unsigned n_visited;
};

/* What becomes of the way after one instruction. */
enum path_state { PATH_CONTINUES, PATH_DEAD, PATH_LEAVES };

struct flow *flow_new(void)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (f && !ZYAN_SUCCESS(ZydisDecoderInit(&f->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) {
		free(f);
		return NULL;
	}
	return f;
}

void flow_free(struct flow *f)
{
	free(f);
}

/* `pop reg; jmp reg` returns. */
static bool jumps_to_popped(const struct flow_state *s, const ZydisDecodedOperand *op)
{
	return s->popped >= 0 && insn_dwarf_reg(op->reg.value) == s->popped && flow_same(s->popped_sp, s->reg[X86_RSP]);
}

/* True: the first time. A full table counts as visited, which ends the search. */
static bool visit(struct flow *f, uint64_t pc)
{
	unsigned mask = (1u << VISITED_BITS) - 1, at = (unsigned)(pc * 0x9e3779b1u) & mask;

	while (f->visited[at]) {
		if (f->visited[at] == pc)
			return false;
		at = (at + 1) & mask;
	}
	if (f->n_visited >= mask - mask / 4)
		return false;
	f->visited[at] = pc;
	f->used[f->n_visited++] = (uint16_t)at;
	return true;
}

static bool inside(const struct flow_options *o, uint64_t pc)
{
	return pc >= o->lo && pc < o->hi;
}

static uint64_t rel_target(const struct flow_state *s, const struct insn *in)
{
	return s->pc + in->i.length + (uint64_t)in->op[0].imm.value.s;
}

static enum path_state do_jump(struct flow *f, const struct flow_options *o, const struct insn *in,
			       struct flow_row *ret)
{
	struct flow_state *s = &f->now;
	const ZydisDecodedOperand *op = &in->op[0];

	if (insn_is_imm(op)) {
		uint64_t to = rel_target(s, in);

		if (inside(o, to)) {
			s->pc = to;
			return PATH_CONTINUES;
		}
		if (o->leaves && !o->leaves(o->ctx, to))
			return PATH_DEAD;
		flow_row_from(s, FLOW_TAIL, ret);
		ret->target_pc = to;
		return PATH_LEAVES;
	}
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		flow_row_from(s, FLOW_TAIL_MEM, ret);
		return PATH_LEAVES;
	}
	flow_row_from(s, FLOW_JUMP_REG, ret);
	ret->sp = s->reg[X86_RSP];
	ret->target = insn_value(s, op);
	if (jumps_to_popped(s, op)) {
		ret->end = FLOW_RETURN;
		ret->ra = ret->target;
	}
	return PATH_LEAVES;
}

static void do_branch(struct flow *f, const struct flow_options *o, const struct insn *in)
{
	uint64_t to = rel_target(&f->now, in);

	if (!o->straight && insn_is_imm(&in->op[0]) && inside(o, to) && f->n_forks < MAX_FORKS) {
		f->fork[f->n_forks] = f->now;
		f->fork[f->n_forks++].pc = to;
	}
	f->now.pc += in->i.length;
}

/* A call of the next instruction is a push of its own address (deopt handlers, pc-relative code). */
static enum path_state do_call(struct flow *f, const struct flow_options *o, const struct insn *in)
{
	struct flow_state *s = &f->now;

	if (insn_is_imm(&in->op[0]) && in->op[0].imm.value.s == 0)
		flow_push(s, (struct flow_val){0});
	else if (o->straight || o->no_calls)
		return PATH_DEAD;
	else
		flow_clobber_call(s);
	s->pc += in->i.length;
	return PATH_CONTINUES;
}

static bool is_branch(ZydisInstructionCategory c)
{
	return c == ZYDIS_CATEGORY_COND_BR;
}

static bool ends_flow(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_HLT || m == ZYDIS_MNEMONIC_INT3 || m == ZYDIS_MNEMONIC_UD2 ||
	       m == ZYDIS_MNEMONIC_INT || m == ZYDIS_MNEMONIC_IRETQ;
}

static bool frame_built(const struct flow_state *s, const struct flow_options *o)
{
	struct flow_val method = flow_val_add(s->frame, o->method_slot * 8);

	if (s->frame.kind != FLOW_REG || s->n_slots == 0)
		return false;
	return flow_same(s->slot[s->n_slots - 1].addr, method);
}

static void row_built(const struct flow_state *s, const struct flow_options *o, struct flow_row *ret)
{
	flow_row_from(s, FLOW_BUILT, ret);
	ret->ra = flow_load(s, flow_val_add(s->frame, 8));
	ret->saved[SAVED_FP] = flow_load(s, s->frame);
	ret->slot[SLOT_SENDER_SP] = flow_load(s, flow_val_add(s->frame, o->sender_sp_slot * 8));
	ret->slot[SLOT_METHOD] = flow_load(s, flow_val_add(s->frame, o->method_slot * 8));
}

/* The frame is complete: saved rbp and return address are its outermost words. */
static enum path_state row_whole(struct flow_state *s, const struct flow_options *o, struct flow_row *ret)
{
	s->reg[X86_RSP] = flow_val_add(s->reg[X86_RSP], (int64_t)o->limit_words * 8 - 16);
	s->reg[X86_RBP] = flow_pop(s);
	flow_row_from(s, FLOW_LIMIT, ret);
	return PATH_LEAVES;
}

static enum path_state row_at_limit(struct flow_state *s, const struct flow_options *o, struct flow_row *ret)
{
	struct flow_val stored;

	row_whole(s, o, ret);
	/* Stored through rbp, if that is the frame pointer already (safepoint blobs). */
	if (flow_stored(s, (struct flow_val){FLOW_REG, X86_RBP, 8, 0, 0}, &stored))
		ret->ra = stored;
	return PATH_LEAVES;
}

static bool is_whole_at(const struct flow_options *o, const struct flow_state *s, const struct insn *in)
{
	return o->whole && in->i.mnemonic == ZYDIS_MNEMONIC_CALL && o->whole(o->ctx, s->pc + in->i.length);
}

static bool is_limit(const struct flow_options *o, const struct insn *in)
{
	if (!o->limit_call)
		return false;
	return in->i.mnemonic == ZYDIS_MNEMONIC_CALL ||
	       (in->i.mnemonic == ZYDIS_MNEMONIC_AND && insn_is_reg64(&in->op[0]) &&
		in->op[0].reg.value == ZYDIS_REGISTER_RSP);
}

/*
 * Deoptimisation replaces a frame with interpreter frames, whose pcs come from a list: push [rcx]; push rbp; mov rbp,
 * rsp; ...; mov [rbp-8], r8, with the caller's sp in r8 (generate_deopt_blob() in sharedRuntime_x86_64.cpp). Either
 * instruction tells what the frames built so far return to.
 */
static bool rebuilds_frame(const struct flow_state *s, const struct insn *in, struct flow_row *ret)
{
	const ZydisDecodedOperand *op = in->op;
	struct flow_val fp = s->reg[X86_RBP];
	bool push = in->i.mnemonic == ZYDIS_MNEMONIC_PUSH && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
	bool link = in->i.mnemonic == ZYDIS_MNEMONIC_MOV && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    insn_is_reg64(&op[1]) && op[1].reg.value == ZYDIS_REGISTER_R8 && fp.kind != FLOW_UNKNOWN &&
		    flow_same(insn_addr(s, &op[0]), flow_val_add(fp, -8));

	if (!push && !link)
		return false;
	flow_row_from(s, FLOW_LIMIT, ret);
	ret->ra = push ? insn_value(s, &op[0]) : flow_load(s, flow_val_add(fp, 8));
	ret->sp = s->reg[X86_R8];
	if (link)
		ret->saved[SAVED_FP] = flow_load(s, fp);
	return true;
}

/* Executes one instruction. */
static enum path_state step(struct flow *f, const struct flow_options *o, struct flow_row *ret)
{
	struct flow_state *s = &f->now;
	struct insn in;
	uint8_t bytes[MAX_INSN];
	uint32_t n = o->fetch(o->ctx, s->pc, bytes, sizeof(bytes));

	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&f->decoder, bytes, n, &in.i, in.op)))
		return PATH_DEAD;
	if (is_limit(o, &in))
		return row_at_limit(s, o, ret);
	if (is_whole_at(o, s, &in))
		return row_whole(s, o, ret);
	if (o->rebuilds && rebuilds_frame(s, &in, ret))
		return PATH_LEAVES;
	switch (in.i.mnemonic) {
	case ZYDIS_MNEMONIC_RET: flow_row_from(s, FLOW_RETURN, ret); return PATH_LEAVES;
	case ZYDIS_MNEMONIC_JMP: return do_jump(f, o, &in, ret);
	case ZYDIS_MNEMONIC_CALL: return do_call(f, o, &in);
	default: break;
	}
	if (ends_flow(in.i.mnemonic))
		return PATH_DEAD;
	if (is_branch(in.i.meta.category)) {
		do_branch(f, o, &in);
		return PATH_CONTINUES;
	}
	if (!insn_do_data(s, &in))
		insn_clobber(s, &in);
	s->pc += in.i.length;
	if (o->interpreter && frame_built(s, o)) {
		row_built(s, o, ret);
		return PATH_LEAVES;
	}
	return PATH_CONTINUES;
}

/* A way out whose return address cannot be expressed is unusable, unless `thrown_at` or the jump itself tells it. */
static bool usable(const struct flow_row *row)
{
	if (row->end == FLOW_JUMP_REG && (row->target.kind != FLOW_UNKNOWN || row->thrown_at.kind != FLOW_UNKNOWN))
		return row->sp.kind != FLOW_UNKNOWN;
	return row->ra.kind != FLOW_UNKNOWN && row->sp.kind != FLOW_UNKNOWN;
}

/* The rest of the way has been followed before: its row, in terms of the registers where this way began. */
static bool joins_known(const struct flow_state *s, const struct flow_options *o, struct flow_row *ret)
{
	const struct flow_row *known = o->row_of ? o->row_of(o->known, s->pc) : NULL;

	if (!known || known->end == FLOW_NONE)
		return false;
	*ret = *known;
	ret->called |= s->called;
	ret->ra = flow_rebase(s, known->ra);
	ret->sp = flow_rebase(s, known->sp);
	ret->thrown_at = flow_rebase(s, known->thrown_at);
	ret->sender_sp = flow_rebase(s, known->sender_sp);
	ret->target = flow_rebase(s, known->target);
	for (unsigned i = 0; i < SAVED_REGS; i++)
		ret->saved[i] = flow_rebase(s, known->saved[i]);
	for (unsigned i = 0; i < FLOW_SLOTS; i++)
		ret->slot[i] = flow_rebase(s, known->slot[i]);
	return usable(ret);
}

static bool next_fork(struct flow *f)
{
	if (!f->n_forks)
		return false;
	f->now = f->fork[--f->n_forks];
	return true;
}

/* The interpreter's way out by a direct jump is an error path: a built frame takes precedence. */
static bool is_detour(const struct flow_options *o, const struct flow_row *row)
{
	return o->interpreter && row->end == FLOW_TAIL;
}

void flow_follow(struct flow *f, const struct flow_options *o, uint64_t pc, struct flow_row *ret)
{
	struct flow_row row, detour = {0};

	flow_state_init(&f->now, pc);
	f->n_forks = 0;
	while (f->n_visited)
		f->visited[f->used[--f->n_visited]] = 0;
	for (unsigned n = 0; n < o->budget; n++) {
		enum path_state way;

		if (o->limit_pc && f->now.pc == o->limit_pc) {
			row_at_limit(&f->now, o, ret);
			return;
		}
		if (n && joins_known(&f->now, o, ret))
			return;
		way = visit(f, f->now.pc) ? step(f, o, &row) : PATH_DEAD;
		if (way == PATH_LEAVES && usable(&row)) {
			if (!is_detour(o, &row)) {
				*ret = row;
				return;
			}
			detour = row;
		}
		if (way != PATH_CONTINUES && !next_fork(f))
			break;
	}
	*ret = detour;
}
