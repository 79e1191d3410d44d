#ifndef JS_ATTRIBUTION_CHOICE_H
#define JS_ATTRIBUTION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/* Chooses the nearest evidence in the control flow, from the innermost loop outwards. */

/* Memory of the searches, kept between them. Zero-initialise; choice_scratch_done() releases. */
struct choice_scratch {
	uint32_t *mark, *queue; /* per instruction */
	uint32_t cap, epoch;
};

void choice_scratch_done(struct choice_scratch *s);

/* What a search found. */
struct choice_end {
	bool found;
	bool pseudo; /* method entry or return: the compiled method itself */
	bool alone; /* control has no other way in between */
	uint8_t kind; /* enum evidence_kind, unless pseudo */
	uint8_t trap; /* enum trap_kind, unless pseudo */
	struct inline_pos pos;
	uint32_t distance; /* in instructions */
};

struct choice {
	struct inline_pos pos;
	const struct evidence *own; /* the instruction itself is evidence, with this pos; else NULL */
	bool ancestor; /* the sides differ: pos is what they have in common */
	struct choice_end forward, backward; /* what it was chosen from */
	bool in_loop;
	int32_t loop; /* the innermost loop of the instruction, if that has no evidence; else -1 */
};

/* -ENOMEM. */
int choose(const struct graph *g, struct choice_scratch *s, uint32_t insn, struct choice *ret);

#endif
