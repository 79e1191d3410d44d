#ifndef JS_ENGINE_SUSPEND_LINK_H
#define JS_ENGINE_SUSPEND_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/suspend/suspend_frozen.h"
#include "sampler/engine/suspend_stats.h"

struct err;
struct sample_queue;

/*
 * What the two sides of the suspend engine share: the tracing side, which stops threads, and its owner, which gets the
 * samples. If the tracing side is a process of its own (suspend_tracer.h), both map this memory, and the owner may have
 * been taken over. So the tracing side checks everything before it uses it as an address or a length: the queues check
 * positions and lengths (sample_queue.h), and suspend_frozen.h checks the length of an answer. Threads named in
 * requests are looked up among those that the tracing side knows. The flags here can only end the work, or wake the
 * owner.
 */
struct suspend_loop_stats {
	struct suspend_stats suspend;
	uint64_t samples, lost, threads;
	uint64_t cpu_ns; /* of the separate tracing process, if there is one */
	bool target_ended;
};

struct suspend_facts {
	struct suspend_loop_stats stats; /* its quantiles are not set */
	struct suspend_times pause, stop, copy, spread;
};

enum { SUSPEND_FACTS_WORDS = sizeof(struct suspend_facts) / sizeof(uint64_t) };

struct suspend_shared {
	_Atomic bool stopping; /* from the owner */
	_Atomic bool owner_waits;
	_Atomic bool done; /* everything is in the queue */
	_Atomic uint64_t turn; /* odd while `facts` are written */
	_Atomic uint64_t facts[SUSPEND_FACTS_WORDS];
	struct suspend_frozen_box frozen;
};

struct suspend_link {
	struct suspend_shared *shared;
	struct sample_queue *samples; /* of struct suspend_msg, to the owner */
	struct sample_queue *requests; /* of struct suspend_request, from the owner */
	int push_fd; /* eventfd: there may be something in the queue */
};

/* The tracing side will be a child that is forked later. 0 or -errno; suspend_link_close() in any case. */
int suspend_link_open(struct suspend_link *l, struct err *err);
void suspend_link_close(struct suspend_link *l);

/* The tracing side. */
void suspend_link_wake_owner(struct suspend_link *l); /* if it waits for the queue */
void suspend_link_publish(struct suspend_link *l, const struct suspend_facts *f);
void suspend_link_end(struct suspend_link *l);

/* The owner. */
bool suspend_link_done(const struct suspend_link *l); /* everything is in the queue */
/*
 * Waits until there may be something in the queue, the other side is done, or `until_ns` (CLOCK_MONOTONIC, 0: no limit).
 * False: the other end of `socket` is closed.
 */
bool suspend_link_wait(struct suspend_link *l, int socket, uint64_t until_ns);
/* As of the last suspend_link_publish(), with quantiles. From any thread. */
struct suspend_loop_stats suspend_link_stats(const struct suspend_link *l);

#endif
