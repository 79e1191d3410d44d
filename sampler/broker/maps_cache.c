/*
 * Targets' mappings, kept for a while: if there are very many, they must not be read for each request of each thread.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "sampler/broker/maps_cache.h"
#include "sampler/broker/private.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/*
 * They are kept for this many times the time that reading them took, so that reading takes at most a tenth of the time,
 * but not for longer than KEEP_MAX_NS, because a target can make reading slow.
 */
enum { KEEP_TIMES = 10, KEEP_MAX_NS = 1000000000 };

struct broker_maps {
	struct maps *maps;
	pid_t pid;
	uint64_t start; /* of that process */
	uint64_t until_ns;
	unsigned users; /* counts b->maps as one; under b->maps_lock, as is b->maps */
};

const struct maps *broker_maps_of(const struct broker_maps *m)
{
	return m->maps;
}

static void maps_unref(struct broker_maps *m)
{
	if (m && --m->users == 0) {
		maps_close(m->maps);
		free(m);
	}
}

void broker_maps_release(struct broker *b, struct broker_maps *m)
{
	pthread_mutex_lock(&b->maps_lock);
	maps_unref(m);
	pthread_mutex_unlock(&b->maps_lock);
}

/* NULL: there are none, or they are too old. */
static struct broker_maps *find_kept(struct broker *b, const struct proc *p)
{
	struct broker_maps *ret = NULL;

	pthread_mutex_lock(&b->maps_lock);
	for (size_t i = 0; i < BROKER_MAPS_KEPT && !ret; i++) {
		struct broker_maps *m = b->maps[i];

		if (m && m->pid == proc_pid(p) && m->start == proc_start_ticks(p) && clock_monotonic_ns() < m->until_ns)
			ret = m;
	}
	if (ret)
		ret->users++;
	pthread_mutex_unlock(&b->maps_lock);
	return ret;
}

/* Replaces older ones of that process, or else those that would expire first. */
static void keep(struct broker *b, struct broker_maps *m)
{
	size_t place = 0;

	pthread_mutex_lock(&b->maps_lock);
	for (size_t i = 0; i < BROKER_MAPS_KEPT; i++) {
		const struct broker_maps *k = b->maps[i], *at = b->maps[place];

		if (k && k->pid == m->pid) {
			place = i;
			break;
		}
		if (at && (!k || k->until_ns < at->until_ns))
			place = i;
	}
	maps_unref(b->maps[place]);
	b->maps[place] = m;
	m->users++;
	pthread_mutex_unlock(&b->maps_lock);
}

/* Call without the lock, because a target can make this wait. */
static int read_now(struct broker *b, struct proc *p, struct broker_maps **ret)
{
	struct broker_maps *m = calloc(1, sizeof(*m));
	uint64_t began = clock_monotonic_ns(), now, keep_ns;
	int r = m ? maps_open(p, NULL, &m->maps, NULL) : -ENOMEM;

	if (r < 0) {
		free(m);
		return r;
	}
	maps_freeze(m->maps);
	now = clock_monotonic_ns();
	m->pid = proc_pid(p);
	m->start = proc_start_ticks(p);
	keep_ns = KEEP_TIMES * (now - began);
	m->until_ns = now + (keep_ns < KEEP_MAX_NS ? keep_ns : KEEP_MAX_NS);
	m->users = 1;
	keep(b, m);
	*ret = m;
	return 0;
}

int broker_maps_seek(struct broker *b, struct proc *p, bool (*wanted)(const struct maps *m, const void *arg),
		     const void *arg, struct broker_maps **ret)
{
	struct broker_maps *m = find_kept(b, p);
	int r;

	if (!m || !wanted(m->maps, arg)) {
		if (m)
			broker_maps_release(b, m);
		r = read_now(b, p, &m);
		if (r < 0)
			return r;
		if (!wanted(m->maps, arg)) {
			broker_maps_release(b, m);
			return -ENOENT;
		}
	}
	*ret = m;
	return 0;
}

void broker_maps_forget(struct broker *b)
{
	for (size_t i = 0; i < BROKER_MAPS_KEPT; i++)
		maps_unref(b->maps[i]);
}
