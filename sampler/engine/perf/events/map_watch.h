#ifndef JS_ENGINE_MAP_WATCH_H
#define JS_ENGINE_MAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/rings/perf_record.h"
#include "sampler/engine/perf/rings/perf_ring.h"

struct err;

/*
 * Which processes of the host map a file of a certain name as code, as soon as they do. The kernel tells of every such mapping of all processes; what finds
 * no room, if somebody makes very many, is lost. Takes CAP_PERFMON, or what is as good.
 */
struct map_watch {
	const char *name; /* borrowed */
	struct perf_layout layout;
	struct perf_ring *rings; /* for each CPU */
	int *fds; /* the events that own them, for poll(2): readable when there is something new */
	size_t n;
};

int map_watch_open(struct map_watch *w, const char *name, struct err *err); /* 0 or -errno. Close it in either case. */
void map_watch_close(struct map_watch *w);

/* Reads what there is; the PIDs of the first `max` processes are in *pids, each once. Returns their number. */
size_t map_watch_read(struct map_watch *w, pid_t *pids, size_t max);

#endif
