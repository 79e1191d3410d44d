#ifndef JS_ENGINE_PERF_DRAIN_PRIV_H
#define JS_ENGINE_PERF_DRAIN_PRIV_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/perf/event_choice.h"
#include "sampler/engine/perf/perf_drain.h"
#include "sampler/engine/perf/perf_intake.h"
#include "sampler/engine/perf/quiet_cpu.h"

struct prompt;

/* Internal to perf_drain*.c. */
struct perf_drain {
	struct proc *proc;
	struct perf_attach *attach;
	struct sample_queue *queue;
	struct perf_intake intake;
	struct event_choice choice;
	struct quiet_cpu quiet;
	uint64_t calm_ns; /* so long without a new thread, and threads' events are inherited again */
	uint64_t changed_ns, refix_ns; /* when events were last opened; how long to wait before threads are chosen anew */
	bool first_on_threads; /* in WAKE_FIRST */
	bool size_asked_for;
	bool woke; /* ever */
	uint64_t started_ns; /* until then the target is starting; 0: it had started before */
	uint32_t pause_ms; /* at most; adapted to how fast the rings fill */
	uint32_t empty_rounds;
	uint64_t drained_ns; /* when the rings of samples were last looked at */
	uint32_t random;
	bool ended_seen;

	int epoll_fd, wake_fd, pid_fd;
	pthread_t thread;
	sem_t sampling; /* posted when the events are enabled */
	bool started;
	/* While each sample wakes its reader, those are the readers; this thread looks after the rest.
	 * NULL: it watches the rings itself. The lock is for all that is above. */
	struct prompt *prompt;
	pthread_mutex_t lock;

	int ready_fd; /* drain -> consumer */
	atomic_bool stop, done, ended;
	_Atomic uint32_t stack_bytes;
	_Atomic uint64_t followed, brief, refused, alive; /* of the family, for others to read */
	_Atomic int on; /* enum perf_attach_on: what there is now */
	struct perf_steps *steps; /* for each ring */
	_Atomic uint64_t *used_ns; /* for each ring: CPU time of the consumer there, not yet in `steps` */
	uint64_t *waiting_since_ns; /* for each ring: its reader; UINT64_MAX: it has not waited yet */
	bool *waited; /* for each ring: something was in it in the last round, and its reader has not come */
};

/* Would other events do better? Then drain_reopen(), both with the lock. */
bool drain_wants_change(struct perf_drain *d);
/* Before there is anything to sample. */
bool drain_begins_on_threads(const struct perf_drain *d);
void drain_look_for_new_threads(struct perf_drain *d);
void drain_reopen(struct perf_drain *d);
/* May threads have sizes of their own? */
bool drain_may_own(const struct perf_drain *d);

#endif
