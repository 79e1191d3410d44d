/* A target's mappings, kept for a while: one that has very many must not make each request read them all. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/broker/private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/* Times what reading them took, so that it takes a tenth of the time at most. */
enum { KEEP_TIMES = 10 };

/* Of this thread, which serves one channel. */
static _Thread_local struct {
	struct maps *maps; /* NULL: none */
	pid_t pid;
	uint64_t start; /* of that process */
	uint64_t until_ns;
} cache;

void broker_maps_forget(void)
{
	if (cache.maps)
		maps_close(cache.maps);
	cache.maps = NULL;
}

static bool is_kept(const struct proc *p)
{
	return cache.maps && cache.pid == proc_pid(p) && cache.start == proc_start_ticks(p) &&
	       clock_monotonic_ns() < cache.until_ns;
}

static int read_again(struct proc *p)
{
	uint64_t began = clock_monotonic_ns(), now;
	int r;

	broker_maps_forget();
	r = maps_open(p, NULL, &cache.maps, NULL);
	if (r < 0)
		return r;
	now = clock_monotonic_ns();
	cache.pid = proc_pid(p);
	cache.start = proc_start_ticks(p);
	cache.until_ns = now + KEEP_TIMES * (now - began);
	return 0;
}

int broker_maps_seek(struct proc *p, bool (*wanted)(const struct maps *m, const void *arg), const void *arg,
		     const struct maps **ret)
{
	int r = 0;

	if (!is_kept(p) || !wanted(cache.maps, arg)) {
		r = read_again(p);
		if (r == 0 && !wanted(cache.maps, arg))
			r = -ENOENT;
	}
	*ret = cache.maps;
	return r;
}
