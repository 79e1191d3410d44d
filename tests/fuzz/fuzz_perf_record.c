/* Records of a perf ring: first byte chooses the layout, the rest is one record. */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sampler/engine/perf/rings/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sum;

static void touch(const uint8_t *p, size_t n)
{
	for (size_t i = 0; p && i < n; i++)
		sum += p[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_layout l = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.n_regs = 17,
	};
	struct perf_record r;
	uint64_t chain[64];

	if (size < 1)
		return 0;
	l.sample_id_all = data[0] & 1;
	if (data[0] & 2)
		l.sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (data[0] & 4)
		l.sample_type |= PERF_SAMPLE_READ;
	l.n_read = data[0] >> 3 & 3;
	if (!perf_layout_supported(&l) || perf_record_parse(&l, data + 1, size - 1, &r) < 0)
		return 0;
	if (r.kind == PERF_REC_SAMPLE) {
		touch(r.stack, r.stack_dyn);
		touch(r.regs, r.n_regs * sizeof(uint64_t));
		sum += perf_record_kernel_chain(&r, chain, 64);
	}
	sum += strlen(r.comm);
	return 0;
}
