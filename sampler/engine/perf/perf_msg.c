#include "sampler/engine/perf/perf_msg.h"

#include <string.h>

#include "sampler/engine/perf/rings/perf_record.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/regs_host.h"

void perf_msg_fill_user(struct perf_msg_sample *m, const struct perf_record *r)
{
	uint64_t values[64];

	m->has_user = r->regs != NULL;
	if (!m->has_user)
		return;
	memcpy(values, r->regs, r->n_regs * sizeof(values[0]));
	regs_host_from_perf(&m->regs, values, r->n_regs);
	m->stack_addr = arch_sp(arch_host(), &m->regs);
}

struct raw_sample perf_msg_raw(const struct perf_msg_sample *m)
{
	const uint64_t *kernel = (const uint64_t *)(m + 1);

	return (struct raw_sample){
		.pid = m->head.pid,
		.tid = m->head.tid,
		.time_ns = m->time_ns,
		.weight = m->weight,
		.state = THREAD_RUNNING,
		.has_user = m->has_user,
		.regs = m->regs,
		.stack_addr = m->stack_addr,
		.stack = (const uint8_t *)(kernel + m->n_kernel),
		.stack_len = m->stack_len,
		.stack_cut = m->stack_cut,
		.stack_missing = m->stack_missing,
		.frozen = (const uint8_t *)(kernel + m->n_kernel) + m->stack_len,
		.frozen_len = m->frozen_len,
		.kernel = kernel,
		.n_kernel = m->n_kernel,
	};
}
