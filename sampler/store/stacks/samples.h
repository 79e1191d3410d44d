#ifndef JS_STACKS_SAMPLES_H
#define JS_STACKS_SAMPLES_H

#include <stdint.h>

#include "sampler/model/named_profile.h"
#include "sampler/store/stacks/bucket.h"
#include "symbolizer/base/vec.h"

struct dictionary;
struct named_builder;

/* Of all stacks that one query reads: bounds its time and memory, whatever the files claim. */
enum { SAMPLES_FRAMES_MAX = 1 << 26 };

/* What the query's targets are called, if they agree. */
struct target_texts {
	uint32_t targets;
	char jdk[128], command[512];
};

/* Those of other targets. */
void target_texts_add(struct target_texts *to, const struct target_texts *from);

/* The samples of a query, added up over all files, and then named at once. */
struct samples {
	struct dictionary *names; /* of all numbers below */
	struct bucket sum;
	VEC(struct named_compile) compiled; /* by function; why_interpreted: string */
	uint32_t unit; /* string */
	int64_t base_s; /* what times in `compiled` count from, until samples_name(); a time before all samples */
	int64_t first_s, last_s; /* first and last time with samples; last_s is exclusive. 0: none */
	uint32_t buckets;
	struct target_texts of;
	uint64_t left_out; /* samples whose stacks are beyond SAMPLES_FRAMES_MAX */
};

int samples_begin(struct samples *s, int64_t base_s); /* -ENOMEM, or 0 */
void samples_done(struct samples *s);
/* Notes how a function was compiled. 0 or -ENOMEM. */
int samples_compiled(struct samples *s, uint32_t function, const struct named_compile *c);
/* Adds those of other times, of the same query and base_s. 0 or -ENOMEM. */
int samples_merge(struct samples *s, const struct samples *other);
/* Adds them to a profile, with its metadata but for the event. 0 or -ENOMEM. */
int samples_name(struct samples *s, struct named_builder *b);

#endif
