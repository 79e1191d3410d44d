#include "sampler/engine/suspend/suspend_look.h"

#include <stddef.h>

#include "sampler/engine/suspend/suspend_tick.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

enum {
	COPY = 64 << 10, /* of a stack whose end is not known */
	COPY_MAX = 1 << 20,
	PIECE = 64 << 10, /* read between two looks at the clock, in about 10 us */
	BLOCK = 64, /* of the thread's control block: enough to recognise the end of the stack */
};
#define EXEC_CHECK_NS UINT64_C(10000000)

static size_t stack_size(const struct suspend_look *l)
{
	uint64_t sp = arch_sp(arch_host(), &l->set.regs);

	/* glibc puts the control block at the end of the stack, except for the first thread. */
	if (l->thread_block > sp && l->thread_block - sp < COPY_MAX)
		return (size_t)(l->thread_block - sp) + BLOCK;
	return l->thread_block > sp && l->thread_block - sp < 64 * (uint64_t)COPY_MAX ? COPY_MAX : COPY;
}

/* In one go, bypassing the page cache; if a part cannot be read, up to there. */
static size_t read_piece(struct mem *m, uint64_t sp, void *to, size_t size)
{
	struct mem_span whole = {.addr = sp, .dst = to, .len = (uint32_t)size};

	mem_read_batch(m, &whole, 1);
	return whole.ok ? size : mem_read_some(m, sp, to, size);
}

/* *ret_cut: the stack continues. */
static size_t read_stack(struct suspend_tick *t, const struct suspend_look *l, uint64_t sp, uint8_t *to, size_t size,
			 bool *ret_cut)
{
	size_t got = 0, n, piece;

	do {
		piece = size - got < PIECE ? size - got : PIECE;
		n = read_piece(t->mem, sp + got, to + got, piece);
		got += n;
	} while (n == piece && got < size && (!l->until_ns || clock_monotonic_ns() < l->until_ns));
	*ret_cut = n == piece;
	t->stats.cut += n == piece && got < size;
	return got;
}

struct suspend_msg_sample *suspend_look_copy(struct suspend_tick *t, const struct suspend_thread *th,
					     const struct suspend_look *l)
{
	uint64_t sp = arch_sp(arch_host(), &l->set.regs);
	size_t size = stack_size(l), n;
	bool cut;
	struct suspend_msg_sample *m =
		suspend_output_reserve(&t->out, sizeof(*m) + size + (th->has_frozen ? ENGINE_FROZEN_MAX : 0));

	if (!m)
		return NULL;
	mem_new_sample(t->mem);
	n = read_stack(t, l, sp, (uint8_t *)(m + 1), size, &cut);
	*m = (struct suspend_msg_sample){
		.head = {.kind = SUSPEND_MSG_SAMPLE},
		.stack_addr = sp,
		.stack_len = n,
		.stack_cut = cut,
		.frozen_asked = th->has_frozen,
	};
	if (th->has_frozen)
		m->frozen_len = suspend_frozen_take(&t->frozen, th->tid, (uint8_t *)(m + 1) + n, ENGINE_FROZEN_MAX,
						    l->until_ns ? l->until_ns : clock_monotonic_ns() + t->max_pause_ns);
	return m;
}

void suspend_look_commit(struct suspend_tick *t, struct suspend_thread *th, struct suspend_msg_sample *m,
			 const struct suspend_look *l, uint64_t weight, uint64_t now_ns)
{
	m->head.tid = th->tid;
	m->head.state = l->state;
	m->head.count = 1;
	m->head.weight = weight;
	m->time_ns = now_ns;
	m->regs = l->set.regs;
	suspend_output_commit(&t->out, m);
	th->sampled = true;
	th->state = l->state;
}

/* Asked once it is open: what was opened before the program got more rights is empty now. */
static bool has_no_more_rights(struct suspend_tick *t)
{
	struct proc_status st;

	return proc_owner_check(t->proc, &t->owner, &st) == 0;
}

void suspend_look_check_exec(struct suspend_tick *t, uint64_t sp, uint64_t now_ns)
{
	struct mem *fresh;
	bool may_read;
	uint64_t word;

	if (now_ns - t->exec_checked_ns < EXEC_CHECK_NS)
		return;
	t->exec_checked_ns = now_ns;
	if (mem_live_open(t->proc, &fresh, NULL) < 0)
		return;
	may_read = has_no_more_rights(t);
	if (may_read ? mem_read_u64(fresh, sp & ~UINT64_C(7), &word) : !t->refused) {
		struct mem *old = t->mem;

		t->refused = !may_read; /* the owner may not read it either, and says so */
		if (may_read) {
			t->mem = fresh;
			fresh = old;
		}
		suspend_output_put(&t->out, &(struct suspend_msg){.kind = SUSPEND_MSG_EXEC});
	}
	mem_free(fresh);
}

enum thread_state suspend_look_state(struct suspend_thread *th, const struct has_run_account *before,
				     const struct has_run_account *now)
{
	uint64_t run = now->cpu_ns - before->cpu_ns, wait = now->wait_ns - before->wait_ns;

	if (!now->slices || run + wait == 0 || now->cpu_ns < before->cpu_ns)
		return THREAD_RUNNING;
	th->share += (double)run / (double)(run + wait);
	if (th->share < 0.5)
		return THREAD_RUNNABLE;
	th->share -= 1;
	return THREAD_RUNNING;
}

bool suspend_look_judge(struct suspend_tick *t, struct suspend_thread *th, const struct suspend_look *l,
			uint64_t *ret_weight, uint64_t now_ns)
{
	const struct has_run_look now = {has_run_host()->checksum(&l->set), l->account, l->stopped};
	uint64_t used = l->account.cpu_ns > th->counted_ns ? l->account.cpu_ns - th->counted_ns : 0;
	enum has_run_verdict v = used || !l->account.slices ? HAS_RUN_REGISTERS : HAS_NOT_RUN;

	if (th->looked)
		v = has_run_judge(&th->look, &now);
	t->stats.by_registers += v == HAS_RUN_REGISTERS;
	t->stats.by_account += v == HAS_RUN_ACCOUNT;
	th->look = now;
	th->looked = th->off_cpu = true;
	th->asleep = !l->stopped;
	th->counted_ns = l->account.cpu_ns;
	if (t->out.wall) {
		*ret_weight = suspend_output_elapsed(th, now_ns);
		return true;
	}
	*ret_weight = l->account.slices ? used : suspend_output_elapsed(th, now_ns);
	return v != HAS_NOT_RUN;
}
