#ifndef JS_ENGINE_QUIET_CPU_H
#define JS_ENGINE_QUIET_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps a thread that reads rings off the CPUs where the target runs. One of real-time priority is woken on
 * the CPU that it slept on even if a thread of the target runs there and another CPU is idle
 * (select_task_rq_rt() in linux/kernel/sched/rt.c), and so does its timer interrupt. Zero-initialise;
 * quiet_cpu_done(). For one thread, which it is about.
 */
struct quiet_cpu {
	cpu_set_t *allowed; /* where the thread may run; NULL: not known yet */
	size_t size;
	int here, empty; /* of this round: its own CPU, one whose ring had nothing; -1: none */
	bool in_the_way; /* there was something in the ring of its own CPU */
	uint32_t rounds; /* since it moved */
};

/* A round: begin, each ring's CPU with the bytes in it, end, which moves the thread if that helps. */
void quiet_cpu_begin(struct quiet_cpu *q);
void quiet_cpu_note(struct quiet_cpu *q, int cpu, uint64_t used);
void quiet_cpu_end(struct quiet_cpu *q);
void quiet_cpu_done(struct quiet_cpu *q);

#endif
