#include "sampler/engine/engine_deliver.h"

#include "sampler/engine/engine.h"
#include "sampler/engine/sample_queue.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

enum {
	DEADLINE_EVERY = 64, /* the deadline counts after every so many messages, */
	LATE_NS = 100000000, /* or once it is this long past, if messages take long */
};

bool engine_deliver_queued(struct engine *e, struct sample_queue *q, engine_deliver_fn *deliver,
			   const struct engine_sink *sink, uint64_t deadline_ns, const atomic_bool *stop)
{
	const void *msg;
	size_t len;

	for (unsigned n = 1; (msg = sample_queue_peek(q, &len)); n++) {
		deliver(e, sink, msg, len);
		sample_queue_release(q);
		if (stop && atomic_load_explicit(stop, memory_order_relaxed))
			return true;
		if (deadline_ns && clock_monotonic_ns() >= deadline_ns + (n % DEADLINE_EVERY ? LATE_NS : 0))
			return true;
	}
	return deadline_ns && clock_monotonic_ns() >= deadline_ns;
}

uint64_t engine_deliver_turn(const struct engine_sink *sink, uint64_t deadline_ns)
{
	uint64_t next_ns = sink->turn ? sink->turn(sink->ctx) : deadline_ns;

	return deadline_ns && deadline_ns < next_ns ? deadline_ns : next_ns;
}

void engine_report_thread(struct proc *proc, const struct engine_sink *sink, pid_t tid)
{
	char comm[16];

	if (sink->thread && proc_comm(proc, tid, comm, sizeof(comm)) >= 0)
		sink->thread(sink->ctx, proc_pid(proc), tid, comm);
}
