#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Decodes from every place where an instruction is known to start, following branches, then decodes the rest before the
 * stub section (code that only jump tables lead to). Instructions never overlap: the first one decoded keeps the bytes.
 */
struct decoding {
	struct graph_build *b;
	VEC(struct build_insn) insns; /* in order of decoding */
	VEC(uint32_t) work; /* offsets to decode from */
	int64_t address; /* of the last pc-relative lea of this run */
	bool has_address;
	uint64_t constant; /* loaded by the previous instruction of this run */
	int8_t constant_reg; /* -1: none */
	bool sweeping; /* through bytes to which nothing leads, so that they may be data */
	bool oom;
};

static void work_add(struct decoding *d, int64_t off)
{
	if (off >= 0 && off < d->b->code->n_bytes && !vec_push(&d->work, (uint32_t)off))
		d->oom = true;
}

/* Entry points of compiled Java code, and all other places where an instruction must start. */
static void add_known(struct decoding *d)
{
	const struct code *c = d->b->code;

	for (uint32_t i = 0; i < c->n_null_checks; i++) {
		work_add(d, c->null_checks[i].to);
		work_add(d, c->null_checks[i].from);
	}
	for (uint32_t i = 0; i < c->n_records; i++)
		work_add(d, c->records[i].pc_offset);
	for (uint32_t i = 0; i < c->n_handlers; i++)
		work_add(d, c->handlers[i]);
	work_add(d, c->deopt_mh_handler);
	work_add(d, c->deopt_handler);
	work_add(d, c->exception_handler);
	work_add(d, c->entry);
	work_add(d, 0);
	work_add(d, c->osr_entry);
	work_add(d, c->verified_entry);
}

/*
 * JDK 8 to 25 overwrite the start of a not-entrant method with a 5-byte jump out of it. The original instruction has 7
 * bytes: the stack bang `mov [rsp-disp32],eax`, or `sub rsp,imm32`.
 */
static void unpatch_entry(const struct code *c, uint32_t off, struct decoded *in)
{
	if (off != c->verified_entry || in->class != INSN_JMP || in->len != 5 ||
	    (in->target >= 0 && in->target < c->n_bytes))
		return;
	in->class = INSN_OTHER;
	in->len = 7;
}

/* Constants precede the code; an indirect jump uses them as a table of addresses. */
static void read_table(struct decoding *d, struct build_insn *in)
{
	struct graph_build *b = d->b;
	struct jump_table t = {.first = (uint32_t)b->table_targets.n};
	uint64_t base = b->code->begin + (uint64_t)d->address, value;
	uint8_t bytes[GRAPH_MAX_TABLE * 8];
	uint32_t got;

	if (!d->has_address || d->address >= 0 || d->address < -(int64_t)sizeof(bytes) * 8 || !b->env->bytes)
		return;
	got = b->env->bytes(b->env->ctx, base, bytes,
			    -d->address < (int64_t)sizeof(bytes) ? (uint32_t)-d->address : (uint32_t)sizeof(bytes));
	for (uint32_t i = 0; i + 8 <= got && b->table_targets.n < GRAPH_MAX_TARGETS; i += 8) {
		memcpy(&value, bytes + i, 8);
		value -= b->code->begin;
		if (value == 0 || value >= b->code->n_bytes)
			break;
		work_add(d, (int64_t)value);
		if (!vec_push(&b->table_targets, (uint32_t)value))
			d->oom = true;
		t.n++;
	}
	if (t.n == 0)
		return;
	in->target = (int32_t)b->tables.n;
	if (!vec_push(&b->tables, t))
		d->oom = true;
}

/*
 * The role of a call's target. If a call needs no record, C2 loads the target into a register right before it
 * (Java_To_Runtime in x86_64.ad: mov64 r10, target; call r10).
 */
static enum blob_role role_of_call(const struct decoding *d, const struct decoded *x)
{
	const struct attribution_env *env = d->b->env;

	if (x->class == INSN_CALL)
		return env->role(env->ctx, d->b->code->begin + (uint64_t)x->target);
	if (x->class == INSN_CALL_INDIRECT && x->reg >= 0 && x->reg == d->constant_reg)
		return env->role(env->ctx, d->constant);
	return ROLE_NONE;
}

static bool insn_goes_on(const struct build_insn *in)
{
	switch (in->class) {
	case INSN_JMP:
	case INSN_JMP_INDIRECT:
	case INSN_RET:
	case INSN_STOP: return false;
	case INSN_CALL: return in->role != ROLE_UNCOMMON_TRAP;
	}
	return true;
}

/* Claims the bytes of an instruction, the first of which is free; false: another one has claimed some of them. */
static bool claim(struct graph_build *b, uint32_t off, uint32_t len, uint32_t index)
{
	if (len > b->code->n_bytes - off)
		return false;
	for (uint32_t i = 1; i < len; i++)
		if (b->at[off + i] != AT_NONE)
			return false;
	for (uint32_t i = 1; i < len; i++)
		b->at[off + i] = AT_INSIDE;
	b->at[off] = index + 1;
	return true;
}

/* Decodes one instruction and returns its length; 0: the run ends before it. */
static uint32_t decode_one(struct decoding *d, uint32_t off, bool *ret_goes_on)
{
	const struct code *c = d->b->code;
	struct decoded x;
	struct build_insn in = {.off = off, .target = -1, .evidence = -1, .loop = -1};

	if (d->b->at[off] != AT_NONE) {
		d->b->damaged |= d->b->at[off] == AT_INSIDE && !d->sweeping;
		return 0;
	}
	if (!decode_insn(d->b->decoder, c->bytes, c->n_bytes, off, &x)) {
		d->b->damaged |= !d->sweeping;
		return 0;
	}
	unpatch_entry(c, off, &x);
	if (!claim(d->b, off, x.len, (uint32_t)d->insns.n)) {
		d->b->damaged |= !d->sweeping;
		return 0;
	}
	in.len = x.len;
	in.class = x.class;
	in.flags = x.floating ? BUILD_FLOATING : 0;
	in.role = (uint8_t)role_of_call(d, &x);
	if (x.has_argument) {
		in.flags |= BUILD_ARGUMENT;
		in.target = x.argument;
	}
	if (x.has_limit) {
		in.flags |= BUILD_LIMIT;
		in.target = x.limit;
	}
	d->constant = x.constant;
	d->constant_reg = x.has_constant ? x.reg : -1;
	if ((x.class == INSN_JMP || x.class == INSN_JCC) && x.target >= 0 && x.target < c->n_bytes) {
		in.target = (int32_t)x.target;
		work_add(d, x.target);
	}
	if (x.has_address) {
		d->address = x.address;
		d->has_address = true;
	}
	if (x.class == INSN_JMP_INDIRECT) {
		in.target = 0;
		read_table(d, &in);
		d->b->unknown_table |= in.target == 0;
	}
	if (!vec_push(&d->insns, in))
		d->oom = true;
	*ret_goes_on = insn_goes_on(&in);
	return in.len;
}

static int decode_run(struct decoding *d, uint32_t off)
{
	bool goes_on = true;

	d->has_address = false;
	d->constant_reg = -1;
	while (goes_on && off < d->b->code->n_bytes) {
		uint32_t len = decode_one(d, off, &goes_on);

		if (len == 0)
			return 0;
		if (d->oom)
			return -ENOMEM;
		if (d->insns.n > GRAPH_MAX_INSNS)
			return -E2BIG;
		off += len;
	}
	return 0;
}

static int decode_work(struct decoding *d)
{
	int r = 0;

	while (d->work.n > 0 && r == 0)
		r = decode_run(d, d->work.v[--d->work.n]);
	return r;
}

static int decode_gaps(struct decoding *d)
{
	const struct code *c = d->b->code;
	uint32_t end = c->n_bytes;
	int r = 0;

	if (c->stub_begin >= 0 && c->stub_begin < end)
		end = (uint32_t)c->stub_begin;
	for (uint32_t off = 0; off < end && r == 0; off++) {
		if (d->b->at[off] != AT_NONE)
			continue;
		r = decode_run(d, off);
		if (r == 0)
			r = decode_work(d);
	}
	return r;
}

/* Sorts the instructions by offset, so that branch targets can become indices. */
static int sort_insns(struct decoding *d)
{
	struct graph_build *b = d->b;

	b->insns = malloc(d->insns.n * sizeof(*b->insns));
	if (!b->insns)
		return -ENOMEM;
	for (uint32_t off = 0; off < b->code->n_bytes; off++) {
		if (b->at[off] == AT_NONE || b->at[off] == AT_INSIDE)
			continue;
		b->insns[b->n_insns] = d->insns.v[b->at[off] - 1];
		b->at[off] = ++b->n_insns;
	}
	return 0;
}

static void set_edges(struct graph_build *b)
{
	for (uint32_t i = 0; i < b->n_insns; i++) {
		struct build_insn *in = &b->insns[i];

		if (insn_goes_on(in) && i + 1 < b->n_insns && b->insns[i + 1].off == in->off + in->len)
			in->flags |= INSN_FALLS;
		if ((in->class == INSN_JMP || in->class == INSN_JCC) && in->target >= 0)
			in->target = build_insn_at(b, in->target);
		if ((in->class == INSN_JMP || in->class == INSN_JCC) && in->target >= 0)
			in->flags |= INSN_TAKEN;
	}
}

static void set_flag(struct graph_build *b, int64_t off, uint16_t flag)
{
	int32_t i = build_insn_at(b, off);

	if (i >= 0)
		b->insns[i].flags |= flag;
}

static void set_roots(struct graph_build *b)
{
	const struct code *c = b->code;

	set_flag(b, 0, INSN_ENTRY);
	set_flag(b, c->entry, INSN_ENTRY);
	set_flag(b, c->verified_entry, INSN_ENTRY);
	set_flag(b, c->osr_entry, INSN_ENTRY);
	set_flag(b, c->exception_handler, BUILD_ROOT);
	set_flag(b, c->deopt_handler, BUILD_ROOT);
	set_flag(b, c->deopt_mh_handler, BUILD_ROOT);
	for (uint32_t i = 0; i < c->n_handlers; i++)
		set_flag(b, c->handlers[i], BUILD_ROOT);
	for (uint32_t i = 0; i < c->n_null_checks; i++)
		set_flag(b, c->null_checks[i].to, BUILD_ROOT);
}

/* Converts targets in tables to indices; those inside of an instruction are dropped. */
static void finish_tables(struct graph_build *b)
{
	for (size_t t = 1; t < b->tables.n; t++) {
		struct jump_table *table = &b->tables.v[t];
		uint32_t n = 0;

		for (uint32_t i = 0; i < table->n; i++) {
			int32_t x = build_insn_at(b, b->table_targets.v[table->first + i]);

			if (x >= 0)
				b->table_targets.v[table->first + n++] = (uint32_t)x;
		}
		table->n = n;
	}
}

int build_decode(struct graph_build *b)
{
	struct decoding d = {.b = b};
	int r;

	b->damaged = b->code->end > b->code->begin && b->code->n_bytes < b->code->end - b->code->begin;
	b->at = calloc(b->code->n_bytes, sizeof(*b->at));
	d.oom = !b->at || !vec_push(&b->tables, ((struct jump_table){0}));
	add_known(&d);
	r = d.oom ? -ENOMEM : decode_work(&d);
	d.sweeping = true;
	if (r == 0)
		r = decode_gaps(&d);
	if (r == 0 && d.insns.n == 0)
		r = -EINVAL;
	if (r == 0)
		r = sort_insns(&d);
	if (r == 0) {
		set_edges(b);
		set_roots(b);
		finish_tables(b);
	}
	vec_done(&d.insns);
	vec_done(&d.work);
	return r;
}
