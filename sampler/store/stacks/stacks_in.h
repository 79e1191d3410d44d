#ifndef JS_STACKS_IN_H
#define JS_STACKS_IN_H

#include <stdint.h>

struct dictionary;
struct dictionary_frame;
struct named_profile;

/*
 * Stacks of a profile as nodes of a dictionary. Maps the profile's numbers to the dictionary's; 0: not yet known, or none. UINT32_MAX in any
 * of them: out of memory.
 */
struct stacks_in {
	struct dictionary *dict;
	const struct named_profile *np;
	uint32_t *functions, *mappings;
	uint32_t *frames; /* by line, of locations that are added whole */
	uint32_t *nodes; /* by stack */
	struct dictionary_frame *path; /* of the stack that is being added; room for DICT_DEPTH_MAX */
};

/* Both are borrowed. 0 or -ENOMEM; stacks_in_done() either way. */
int stacks_in_begin(struct stacks_in *a, struct dictionary *dict, const struct named_profile *np);
void stacks_in_done(struct stacks_in *a);

uint32_t stacks_in_text(struct stacks_in *a, uint32_t string);
uint32_t stacks_in_function(struct stacks_in *a, uint32_t function);
uint32_t stacks_in_node(struct stacks_in *a, uint32_t stack);
uint32_t stacks_in_event(struct stacks_in *a); /* of the whole profile */

#endif
