#ifndef JS_OUTPUT_FRAME_RANKS_H
#define JS_OUTPUT_FRAME_RANKS_H

#include <stdbool.h>
#include <stdint.h>

struct named_profile;
struct strtab;

struct frame_rank_text {
	const char *s;
	uint32_t len, id;
};

/*
 * The distinct texts of a profile's frames (frame_text.h), in byte order. The rank of a frame is
 * the position of its text among them. Rank 0 is the empty text.
 */
struct frame_ranks {
	struct frame_rank_text *texts; /* by rank */
	uint32_t n;
	uint32_t *of_line; /* by line of the profile */
	uint32_t unknown; /* rank of "[unknown]", for locations without lines and stacks without frames */
	struct strtab *strings; /* owns the texts */
};

/* False: out of memory. Call frame_ranks_done() in any case. */
bool frame_ranks_make(struct frame_ranks *r, const struct named_profile *np, bool annotate, bool lines);
void frame_ranks_done(struct frame_ranks *r);

#endif
