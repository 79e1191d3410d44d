#ifndef JS_WATCH_WATCHED_H
#define JS_WATCH_WATCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/identity/identity.h"
#include "sampler/daemon/rules/rules.h"
#include "sampler/daemon/watch/who.h"

struct err;
struct feed_out;
struct named_profile;

/* What the keeper learns of a target: who it is, and a profile for each step. who_done(&w->who) at the end. */
struct watched {
	pid_t pid;
	uint64_t start_ticks;
	uint32_t number; /* in the feed */
	const char *boot_id, *host, *user; /* borrowed, as are the next two */
	struct rules *rules;
	struct feed_out *out;
	struct who who; /* what it says of itself */
	struct identity identity;
	struct rule_choice choice; /* of the rules; valid once it was identified */
	uint64_t since_ns; /* CLOCK_REALTIME */
	uint64_t next_ns; /* end of the present step, CLOCK_REALTIME */
	bool introduced; /* the keeper knows it */
};

/* Who it is, from what was read (who_look()), and what the rules say: w->choice. w must not be moved from here on. */
void watched_identify(struct watched *w, const char *jdk);
void watched_introduce(struct watched *w);

/* A step that ended; nothing if it has no samples. 0 or -errno. */
int watched_send(struct watched *w, const struct named_profile *np, struct err *err);
void watched_gone(struct watched *w); /* the last message about it */
void watched_say_lost(const struct watched *w, int r,
		      const struct err *err); /* of a step that cannot be named or sent */

/* Is the present step over (CLOCK_REALTIME)? If so, the next one begins. */
void watched_begin_steps(struct watched *w, uint64_t now_ns);
bool watched_step_over(struct watched *w, uint64_t now_ns);

#endif
