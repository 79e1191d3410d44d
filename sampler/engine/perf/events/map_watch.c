#include "sampler/engine/perf/events/map_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "sampler/engine/perf/events/cpu_list.h"
#include "sampler/engine/perf/events/perf_attr.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

enum { RING_BYTES = 128 << 10 };

static int open_ring(struct map_watch *w, const struct perf_config *c, int cpu)
{
	struct perf_event_attr attr;
	int r;

	perf_attr_maps(c, &attr);
	w->fds[w->n] = perf_open(&attr, -1, cpu, -1);
	if (w->fds[w->n] < 0)
		return w->fds[w->n];
	r = perf_ring_open(&w->rings[w->n], w->fds[w->n], RING_BYTES);
	if (r < 0)
		close_at_exit(&w->fds[w->n]);
	else
		w->n++;
	return r;
}

static int open_rings(struct map_watch *w)
{
	const struct perf_config c = {.period = 0};
	CLEANUP(free_at_exit) int *cpus = NULL;
	size_t n = 0;
	int r = cpu_list_online(&cpus, &n);

	if (r < 0)
		return r;
	w->layout = perf_attr_layout(&c);
	w->rings = calloc(n, sizeof(*w->rings));
	w->fds = calloc(n, sizeof(*w->fds));
	if (!w->rings || !w->fds)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = open_ring(w, &c, cpus[i]);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (ioctl(w->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			r = -errno;
	return r;
}

int map_watch_open(struct map_watch *w, const char *name, struct err *err)
{
	int r;

	*w = (struct map_watch){.name = name};
	r = open_rings(w);
	return r < 0 ? err_set(err, r, "the kernel does not tell of what is mapped: %s", strerror(-r)) : 0;
}

void map_watch_close(struct map_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		perf_ring_close(&w->rings[i]);
		close_at_exit(&w->fds[i]);
	}
	free(w->rings);
	free(w->fds);
	*w = (struct map_watch){.n = 0};
}

struct reading {
	struct map_watch *w;
	pid_t *pids;
	size_t n, max;
};

static bool has_name(const struct perf_record *r, const char *name)
{
	size_t len = strnlen(r->path, r->path_len), n = strlen(name);

	return len > n && r->path[len - n - 1] == '/' && memcmp(r->path + len - n, name, n) == 0;
}

static void note(struct reading *rd, pid_t pid)
{
	for (size_t i = 0; i < rd->n; i++)
		if (rd->pids[i] == pid)
			return;
	if (rd->n < rd->max)
		rd->pids[rd->n++] = pid;
}

static int on_record(void *ctx, const void *bytes, size_t size)
{
	struct reading *rd = ctx;
	struct perf_record r;

	if (perf_record_parse(&rd->w->layout, bytes, size, &r) < 0)
		return 0;
	if (r.kind == PERF_REC_MMAP && r.pid > 0 && has_name(&r, rd->w->name))
		note(rd, r.pid);
	return 0;
}

size_t map_watch_read(struct map_watch *w, pid_t *pids, size_t max)
{
	struct reading rd = {.w = w, .pids = pids, .max = max};

	for (size_t i = 0; i < w->n; i++)
		(void)perf_ring_drain(&w->rings[i], on_record, &rd);
	return rd.n;
}
