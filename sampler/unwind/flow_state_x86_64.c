#include "sampler/unwind/flow_state_x86_64.h"

#include <string.h>

void flow_state_init(struct flow_state *s, uint64_t pc)
{
	memset(s, 0, sizeof(*s));
	s->pc = pc;
	s->popped = -1;
	for (uint8_t i = 0; i < X86_RIP; i++)
		s->reg[i] = (struct flow_val){FLOW_REG, i, 0, 0, 0};
}

/* Frames of more than 2 GiB are not followed. */
static bool add_fits(int32_t a, int64_t n, int32_t *ret)
{
	return !__builtin_add_overflow(a, n, ret);
}

struct flow_val flow_val_add(struct flow_val v, int64_t n)
{
	bool ok = v.kind == FLOW_REG  ? add_fits(v.off, n, &v.off) :
		  v.kind == FLOW_MEM  ? add_fits(v.add, n, &v.add) :
		  v.kind == FLOW_DEEP ? add_fits(v.more, n, &v.more) :
					false;

	return ok ? v : (struct flow_val){0};
}

/* Memory as it is at the starting pc; below the stack pointer there is nothing. */
static struct flow_val load_initial(struct flow_val addr)
{
	if (addr.kind == FLOW_UNKNOWN || addr.base >= FLOW_ALIGNED)
		return (struct flow_val){0};
	if (addr.kind == FLOW_MEM)
		return (struct flow_val){FLOW_DEEP, addr.base, addr.off, addr.add, 0};
	if (addr.kind == FLOW_DEEP)
		return (struct flow_val){FLOW_DEEPER, addr.base, addr.off, addr.add, addr.more};
	if (addr.kind != FLOW_REG || (addr.base == X86_RSP && addr.off < 0))
		return (struct flow_val){0};
	return (struct flow_val){FLOW_MEM, addr.base, addr.off, 0, 0};
}

bool flow_stored(const struct flow_state *s, struct flow_val addr, struct flow_val *ret)
{
	for (unsigned i = s->n_slots; i-- > 0;) {
		if (flow_same(s->slot[i].addr, addr) && s->slot[i].val.kind != FLOW_UNKNOWN) {
			*ret = s->slot[i].val;
			return true;
		}
	}
	return false;
}

struct flow_val flow_load(const struct flow_state *s, struct flow_val addr)
{
	struct flow_val v;

	if (flow_stored(s, addr, &v))
		return v;
	/* A return address that will be replaced by something unknown (an exception handler, say) is in its place
	 * until then. */
	return s->lost ? (struct flow_val){0} : load_initial(addr);
}

/* Only memory that is addressed as stack is remembered. */
static bool is_stack(const struct flow_state *s, struct flow_val addr)
{
	struct flow_val sp = s->reg[X86_RSP];

	if (addr.kind == FLOW_UNKNOWN)
		return false;
	return addr.base == X86_RSP || addr.base == X86_RBP || addr.base >= FLOW_ALIGNED ||
	       (addr.kind == sp.kind && addr.base == sp.base);
}

void flow_store(struct flow_state *s, struct flow_val addr, struct flow_val val)
{
	if (!is_stack(s, addr))
		return;
	for (unsigned i = 0; i < s->n_slots; i++) {
		if (flow_same(s->slot[i].addr, addr)) {
			s->slot[i].val = val;
			return;
		}
	}
	if (s->n_slots == FLOW_MAX_SLOTS) {
		s->lost = true;
		return;
	}
	s->slot[s->n_slots].addr = addr;
	s->slot[s->n_slots++].val = val;
}

void flow_forget(struct flow_state *s, struct flow_val addr)
{
	for (unsigned i = 0; i < s->n_slots; i++)
		if (flow_same(s->slot[i].addr, addr))
			s->slot[i].val = (struct flow_val){0};
}

void flow_push(struct flow_state *s, struct flow_val val)
{
	s->reg[X86_RSP] = flow_val_add(s->reg[X86_RSP], -8);
	flow_store(s, s->reg[X86_RSP], val);
}

struct flow_val flow_pop(struct flow_state *s)
{
	struct flow_val v = flow_load(s, s->reg[X86_RSP]);

	s->reg[X86_RSP] = flow_val_add(s->reg[X86_RSP], 8);
	return v;
}

struct flow_val flow_rebase(const struct flow_state *s, struct flow_val v)
{
	struct flow_val ret;

	if (v.kind == FLOW_UNKNOWN || v.base >= FLOW_ALIGNED)
		return (struct flow_val){0};
	ret = flow_val_add(s->reg[v.base], v.off);
	if (v.kind != FLOW_REG)
		ret = flow_val_add(flow_load(s, ret), v.add);
	if (v.kind == FLOW_DEEP || v.kind == FLOW_DEEPER)
		ret = flow_val_add(flow_load(s, ret), v.more);
	return v.kind == FLOW_DEEPER ? flow_load(s, ret) : ret;
}

/* Registers that a call does not preserve (System V ABI AMD64, 3.2.1). */
void flow_clobber_call(struct flow_state *s)
{
	static const uint8_t lost[] = {
		X86_RAX, X86_RDX, X86_RCX, X86_RSI, X86_RDI, X86_R8, X86_R9, X86_R10, X86_R11,
	};

	for (unsigned i = 0; i < sizeof(lost); i++)
		s->reg[lost[i]] = (struct flow_val){0};
	s->called = true;
}

const uint8_t flow_saved_regs[SAVED_REGS] = {X86_RBP, X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};

void flow_row_from(const struct flow_state *s, enum flow_end end, struct flow_row *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->end = (uint8_t)end;
	ret->called = s->called;
	ret->ra = flow_load(s, s->reg[X86_RSP]);
	ret->sp = flow_val_add(s->reg[X86_RSP], 8);
	ret->thrown_at = s->reg[X86_RDX];
	ret->sender_sp = s->reg[X86_R13];
	for (unsigned i = 0; i < SAVED_REGS; i++)
		ret->saved[i] = s->reg[flow_saved_regs[i]];
}
