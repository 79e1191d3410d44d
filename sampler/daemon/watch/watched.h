#ifndef JS_WATCH_WATCHED_H
#define JS_WATCH_WATCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/identity/identity.h"
#include "sampler/daemon/watch/watch.h"
#include "sampler/daemon/watch/who.h"

struct err;
struct feed_out;
struct named_profile;

/*
 * What is sent to the keeper about a target: who it is, and a profile for each step. Call who_done(&w->who) at the end.
 */
struct watched {
	pid_t pid;
	uint64_t start_ticks;
	uint32_t number; /* in the feed */
	const char *boot_id, *host, *user; /* borrowed, as are the next two */
	struct rules *rules;
	struct feed_out *out;
	bool divisible; /* samples are left out if a rule wants a lower frequency, which takes no other process */
	struct who who; /* what it says of itself */
	struct identity identity;
	uint64_t since_ns; /* CLOCK_REALTIME */
	uint64_t next_ns; /* end of the present step, CLOCK_REALTIME */
	bool introduced; /* the keeper knows it */
};

/*
 * Finds out who it is, from what who_look() has read, and which rule applies. Returns WATCH_LEFT_OUT if it must not be
 * sampled (how->wall: not with waiting threads), WATCH_AGAIN if it must be sampled as *ret says instead of *how, and
 * otherwise WATCH_ENDED, after a message to the keeper that says who it is. ret->wall: the rule wants waiting threads,
 * too. how NULL: it is sampled as it is, whatever the rule says. The caller must not move *w afterwards.
 */
enum watch_status watched_identify(struct watched *w, const char *jdk, const struct watch_how *how,
				   struct watch_how *ret);

/* Sends the profile of a step that ended, unless it has no samples. 0 or -errno. */
int watched_send(struct watched *w, const struct named_profile *np, struct err *err);
void watched_gone(struct watched *w); /* the last message about it */
void watched_say_lost(const struct watched *w, int r,
		      const struct err *err); /* for a step that could not be named or sent */

void watched_begin_steps(struct watched *w, uint64_t now_ns);
/* Is the present step over (CLOCK_REALTIME)? If so, the next one begins. No step ends before `who` is over. */
bool watched_step_over(struct watched *w, uint64_t now_ns);

#endif
