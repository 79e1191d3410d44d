#ifndef TEST_ATTRIBUTION_SAMPLES_H
#define TEST_ATTRIBUTION_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sampled pcs of one process, nothing else: user space only, by one cpu-clock event per CPU, or by one per thread and CPU
 * for a user who may not sample whole CPUs. */
struct samples;

typedef void sample_pc_fn(void *ctx, uint64_t pc);

int samples_open(pid_t pid, unsigned hz, struct samples **ret); /* negative errno */
void samples_drain(struct samples *s, sample_pc_fn *fn, void *ctx);
void samples_close(struct samples *s);

#endif
