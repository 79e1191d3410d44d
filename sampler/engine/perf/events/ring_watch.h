#ifndef JS_ENGINE_PERF_RING_WATCH_H
#define JS_ENGINE_PERF_RING_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds a ring that the kernel does not publish records in any more. A thread that exits writes PERF_RECORD_READ
 * (inherit_stat) for its events on all CPUs, from the CPU that it is on (perf_event_read_event() in kernel/events/core.c), while
 * the counter of nested writers in a ring (struct perf_buffer, nest) is not atomic. If a sample is written at the same
 * moment, the counter may stay too high, and data_head where it is: the ring fills up unseen, and all that follows is lost.
 * There is no record that says so; only the events' own counts of lost samples grow. Zero-initialise.
 */
struct ring_watch {
	uint64_t head; /* when it last moved */
	uint64_t lost; /* when it was last read */
	uint64_t next_ns; /* when to read it next */
	uint64_t pause_ns;
	bool known; /* `lost` is */
};

/* `head`: where the kernel has got to. Returns whether it has stayed there for so long that the count of lost samples
 * should be read. Drained rings only. */
bool ring_watch_due(struct ring_watch *w, uint64_t head, uint64_t now_ns);

/* Samples lost so far. Returns whether the ring is stuck: there is room in it, and yet more were lost. */
bool ring_watch_note(struct ring_watch *w, uint64_t lost, uint64_t now_ns);

#endif
