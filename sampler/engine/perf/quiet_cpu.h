#ifndef JS_ENGINE_QUIET_CPU_H
#define JS_ENGINE_QUIET_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/cpu_list.h"

/*
 * Keeps the calling thread, a reader of rings, off the CPUs where the target runs. A real-time thread wakes on the
 * CPU where it went to sleep, even if a thread of the target runs there and another CPU is idle (select_task_rq_rt()
 * in linux/kernel/sched/rt.c), and its timer interrupts that CPU. Zero-initialise; nothing to free.
 */
struct quiet_cpu {
	cpu_set_t allowed[CPU_LIST_SETS]; /* where the thread may run, if `known` */
	bool known;
	int here, empty; /* in this round: its own CPU; one whose ring was empty (-1: none) */
	bool own_ring_used; /* the ring of its own CPU was not empty */
	uint32_t rounds; /* since the thread last moved */
};

/* One round: begin, note each ring's CPU and the bytes in the ring, end. The end moves the thread if that helps. */
void quiet_cpu_begin(struct quiet_cpu *q);
void quiet_cpu_note(struct quiet_cpu *q, int cpu, uint64_t used);
void quiet_cpu_end(struct quiet_cpu *q);

#endif
