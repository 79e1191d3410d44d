#ifndef JS_STACKS_OUT_H
#define JS_STACKS_OUT_H

#include <stdint.h>

#include "sampler/model/named_profile.h"
#include "symbolizer/base/vec.h"

struct dictionary;
struct named_builder;

/* The location that a node is the innermost frame of, and the node of its caller. location: 0: not yet known. */
struct stacks_out_node {
	uint32_t location, caller;
};

/* Nodes of a dictionary as stacks of a profile. Maps numbers of the dictionary to those of the builder; 0: not yet known, or none. */
struct stacks_out {
	const struct dictionary *dict;
	struct named_builder *b;
	uint32_t *functions, *mappings;
	struct stacks_out_node *nodes; /* by node */
	VEC(struct named_line) lines;
	VEC(uint32_t) locations;
};

/* Both are borrowed, and nothing is added to the dictionary meanwhile. 0 or -ENOMEM; stacks_out_done() either way. */
int stacks_out_begin(struct stacks_out *o, const struct dictionary *dict, struct named_builder *b);
void stacks_out_done(struct stacks_out *o);

uint32_t stacks_out_stack(struct stacks_out *o, uint32_t node); /* UINT32_MAX: out of memory */

#endif
