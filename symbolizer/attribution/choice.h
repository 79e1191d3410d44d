#ifndef JS_ATTRIBUTION_CHOICE_H
#define JS_ATTRIBUTION_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/* Chooses the nearest evidence in the control flow, from the innermost loop outwards. */

/* Memory for searches, reused by later ones. Zero-initialise; choice_scratch_done() releases. */
struct choice_scratch {
	uint32_t *mark, *queue; /* per instruction */
	uint32_t cap, epoch;
};

void choice_scratch_done(struct choice_scratch *s);

/* The result of a search in one direction. */
struct choice_end {
	bool found;
	bool pseudo; /* a method entry or return, which stands for the compiled method itself */
	bool alone; /* control has no other path in between */
	uint8_t kind; /* enum evidence_kind, unless pseudo */
	uint8_t trap; /* enum trap_kind, unless pseudo */
	struct inline_pos pos;
	uint32_t distance; /* in instructions */
};

struct choice {
	struct inline_pos pos;
	bool is_evidence; /* the instruction itself */
	struct evidence own; /* if is_evidence: pos is its position */
	bool ancestor; /* the two ends differ: pos is in their innermost common frame */
	struct choice_end forward, backward; /* the evidence to choose from */
	bool in_loop;
	int32_t loop; /* the innermost loop of the instruction, if it has no evidence; otherwise -1 */
};

/* 0 or -ENOMEM. */
int choose(const struct graph *g, struct choice_scratch *s, uint32_t insn, struct choice *ret);

#endif
