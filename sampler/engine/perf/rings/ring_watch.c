#include "sampler/engine/perf/rings/ring_watch.h"

#define FIRST_NS UINT64_C(20000000)
/* Threads that merely wait write nothing either, and reading the counts of all events takes a system call for each. */
#define PAUSE_MAX_NS UINT64_C(1000000000)

bool ring_watch_due(struct ring_watch *w, uint64_t head, uint64_t now_ns)
{
	if (head != w->head || !w->pause_ns)
		*w = (struct ring_watch){.head = head, .next_ns = now_ns + FIRST_NS, .pause_ns = FIRST_NS};
	return now_ns >= w->next_ns;
}

bool ring_watch_note(struct ring_watch *w, uint64_t lost, uint64_t now_ns)
{
	bool stuck = w->known && lost > w->lost;

	w->lost = lost;
	w->known = true;
	w->next_ns = now_ns + w->pause_ns;
	if (w->pause_ns < PAUSE_MAX_NS)
		w->pause_ns *= 2;
	return stuck;
}
