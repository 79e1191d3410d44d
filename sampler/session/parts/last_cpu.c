#include "sampler/session/parts/last_cpu.h"

#include <stdlib.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

/* The kernel adds up the times of all threads. When threads end, the process may be about to end. */
#define SAMPLE_APART_NS UINT64_C(20000000)
#define END_APART_NS UINT64_C(1000000)

struct last_cpu {
	struct proc *proc;
	uint64_t tried_ns;
	uint64_t read_ns, cpu_ns; /* when it was last read, and its value */
	uint64_t after_ns; /* weights of samples that were taken later */
};

struct last_cpu *last_cpu_new(struct proc *proc)
{
	struct last_cpu *c = calloc(1, sizeof(*c));

	if (c)
		c->proc = proc;
	return c;
}

uint64_t last_cpu_ns(const struct last_cpu *c)
{
	return c->cpu_ns + c->after_ns;
}

static void read_account(struct last_cpu *c, uint64_t apart_ns)
{
	uint64_t now = clock_monotonic_ns(), cpu;

	if (now - c->tried_ns < apart_ns)
		return;
	c->tried_ns = now;
	if (proc_cpu_ns(c->proc, &cpu) < 0)
		return;
	c->read_ns = now;
	c->cpu_ns = cpu;
	c->after_ns = 0;
}

/* --- As a part of a session */

static void counted(void *part, const struct sampled *s)
{
	struct last_cpu *c = part;

	read_account(c, SAMPLE_APART_NS);
	if (s->raw->time_ns > c->read_ns)
		c->after_ns += s->raw->weight;
}

static void thread_ended(void *part, pid_t tid)
{
	(void)tid;
	read_account(part, END_APART_NS);
}

static void close_part(void *part)
{
	free(part);
}

const struct part_ops last_cpu_part = {
	.counted = counted,
	.thread_ended = thread_ended,
	.close = close_part,
};
