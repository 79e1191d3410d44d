#ifndef JS_ENGINE_PERF_RING_WATCH_H
#define JS_ENGINE_PERF_RING_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds a ring in which the kernel no longer publishes records. An exiting thread writes PERF_RECORD_READ
 * (inherit_stat) for its events on all CPUs from its present CPU (perf_event_read_event() in
 * linux/kernel/events/core.c), but the ring's counter of nested writers (struct perf_buffer, nest) is not atomic. If
 * a sample is written at the same moment, the counter may stay too high and data_head where it is: the ring fills up
 * unseen, and all later records are lost. No record says so; only the events' own counts of lost samples grow. Where
 * at least two records stand beyond data_head, this is seen sooner, and they can be read (perf_intake_unpublished()).
 * Zero-initialise.
 */
struct ring_watch {
	uint64_t head; /* as of its last move */
	uint64_t lost; /* as of its last reading */
	uint64_t next_ns; /* when to read it next */
	uint64_t pause_ns;
	bool known; /* `lost` is valid */
};

/* `head`: the kernel's position. Returns whether it has not moved for so long that the count of lost samples should
 * be read. For drained rings only. */
bool ring_watch_due(struct ring_watch *w, uint64_t head, uint64_t now_ns);

/* `lost`: samples lost so far. Returns whether the ring is stuck: it has room, and yet more samples were lost. */
bool ring_watch_note(struct ring_watch *w, uint64_t lost, uint64_t now_ns);

#endif
