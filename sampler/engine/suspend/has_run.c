#include "sampler/engine/suspend/has_run.h"

enum has_run_verdict has_run_judge(const struct has_run_look *before, const struct has_run_look *now)
{
	const struct has_run_account *a = &before->account, *b = &now->account;
	bool same = before->checksum == now->checksum;
	uint64_t used = b->cpu_ns > a->cpu_ns ? b->cpu_ns - a->cpu_ns : 0;

	if (!b->slices)
		return same ? HAS_NOT_RUN : HAS_RUN_REGISTERS;
	if (has_run_account_equal(a, b))
		return HAS_NOT_RUN;
	if (!same)
		return HAS_RUN_REGISTERS;
	return used > (before->disturbed ? HAS_RUN_STOP_NS : 0) ? HAS_RUN_ACCOUNT : HAS_NOT_RUN;
}

const struct has_run_arch *has_run_host(void)
{
#if defined(__x86_64__)
	return &has_run_x86_64;
#else
#error "no register checksum for this processor"
#endif
}
