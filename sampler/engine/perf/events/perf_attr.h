#ifndef JS_ENGINE_PERF_ATTR_H
#define JS_ENGINE_PERF_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/events/perf_event.h"
#include "sampler/engine/perf/rings/perf_record.h"

struct budget;
struct err;
struct event_place;
struct shared_events;

/* What a kernel can do, found out by trying (perf_attr_probe()). */
enum perf_feature {
	PERF_CAN_INHERIT_THREAD = 1, /* Linux 5.13: threads inherit events, child processes do not */
	PERF_CAN_COUNT_LOST = 2, /* Linux 6.0: PERF_FORMAT_LOST */
	PERF_CAN_READ_ENDED = 4, /* inherit_stat: an inherited event reports its count when its thread ends */
	/*
	 * Linux 6.13: inherited events can write their counts into samples, and then stay with their threads.
	 * Otherwise the kernel exchanges the events of two threads of one parent when it switches between them: a
	 * sample is of one thread, with the time of the other.
	 */
	PERF_CAN_STAY = 8,
};

struct perf_config {
	struct perf_event_spec event;
	uint64_t period;
	bool kernel; /* kernel call chains */
	bool exclude_kernel; /* sampling the kernel is not permitted */
	uint32_t stack_bytes; /* of each sample, a multiple of 8; at most PERF_STACK_MAX */
	unsigned features; /* enum perf_feature */
	uint32_t wakeup_bytes; /* readers are woken when the ring holds this much */
	bool wake_each; /* and at every sample */
	bool cpus_in_batches; /* but not by samples of events on CPUs */
	bool stay; /* use PERF_CAN_STAY: threads have no other events */
	bool follow; /* processes that the target starts are sampled too */
	struct budget *memory; /* charged for what is kept of those; borrowed, NULL: no limit */
	struct shared_events *shared; /* used where that loses nothing; borrowed, NULL: none */
	bool sideband_apart; /* side-band records come from separate events */
};

/* The largest stack copy: record sizes are 16 bits wide, and the kernel takes multiples of 8. */
enum { PERF_STACK_MAX = 65528 };

/* Layout of the records that events of this configuration write. */
struct perf_layout perf_attr_layout(const struct perf_config *c);

/*
 * The weight of every sample; 0: each sample has its own. That takes PERF_SAMPLE_PERIOD, with which the kernel writes
 * a sample for every single software event or tracepoint, whatever the period (perf_swevent_event() in
 * linux/kernel/events/core.c, as of 6.18), so those events are opened without it.
 */
uint64_t perf_attr_weight(const struct perf_config *c);

/* A sampling event, disabled. `per_thread`: inherited, and with the side-band records. */
void perf_attr_sampling(const struct perf_config *c, bool per_thread, struct perf_event_attr *ret);
/* An event that counts nothing and owns a ring. `sideband`: with the side-band records. */
void perf_attr_leader(const struct perf_config *c, bool sideband, struct perf_event_attr *ret);

/* The same, for a ring with only fork and exit records, each of which wakes the reader. */
void perf_attr_forks(const struct perf_config *c, struct perf_event_attr *ret);

/* perf_event_open(2) with close-on-exec, by the deputy if there is one. filter_fd: the event's eBPF program; -1:
 * none. Returns a descriptor or -errno. */
int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu, int filter_fd);

/*
 * The same for up to EVENT_PLACES_MAX events, in their order, until one fails: a deputy opens them all for one request.
 * The filter is for those that are not of a thread. *ret_opened: how many were opened; their descriptors are in `fds`. 0,
 * or the -errno of the one that failed.
 */
int perf_open_places(const struct perf_event_attr *attr, const struct event_place *places, size_t n, int filter_fd,
		     int *fds, size_t *ret_opened);

/*
 * Opens the sampling event once to find out what the kernel supports and permits, and sets `features` and
 * `exclude_kernel` of *c accordingly. `tid` -1: the whole CPU.
 */
int perf_attr_probe(struct perf_config *c, pid_t tid, int cpu);

#endif
