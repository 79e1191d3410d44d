#include "sampler/pprof/pprof_kind.h"

#include "sampler/model/named_profile.h"
#include "sampler/pprof/profile.pb-c.h"

static const uint8_t kinds[NAMED_KINDS] = {
	[NAMED_UNKNOWN] = PPROF__KIND__UNKNOWN,
	[NAMED_KERNEL] = PPROF__KIND__KERNEL,
	[NAMED_NATIVE] = PPROF__KIND__NATIVE,
	[NAMED_INTERPRETED] = PPROF__KIND__INTERPRETED,
	[NAMED_C1] = PPROF__KIND__C1,
	[NAMED_C2] = PPROF__KIND__C2,
	[NAMED_INLINED] = PPROF__KIND__INLINED,
	[NAMED_JAVA_NATIVE] = PPROF__KIND__JAVA_NATIVE,
	[NAMED_STUB] = PPROF__KIND__STUB,
	[NAMED_MARK] = PPROF__KIND__MARK,
	[NAMED_THREAD] = PPROF__KIND__THREAD_ROOT,
	[NAMED_PROCESS] = PPROF__KIND__PROCESS_ROOT,
	[NAMED_STATE] = PPROF__KIND__STATE_ROOT,
};

int pprof_kind(uint8_t named_kind)
{
	return named_kind < NAMED_KINDS ? kinds[named_kind] : PPROF__KIND__UNKNOWN;
}

int pprof_named_kind(int kind)
{
	for (int k = 0; k < NAMED_KINDS; k++)
		if (kinds[k] == kind)
			return k;
	return -1;
}
