#ifndef JS_PROFILE_NAMED_COPY_H
#define JS_PROFILE_NAMED_COPY_H

#include <stdbool.h>
#include <stdint.h>

struct named_builder;
struct named_function;
struct named_line;
struct named_profile;
struct named_sample;

/*
 * Copies parts of a profile into a builder, with what they refer to. Each function takes an id of the profile and
 * returns the one in the builder, UINT32_MAX if that has failed; what was copied before is found again.
 */
struct named_copy {
	const struct named_profile *np;
	struct named_builder *b;
	uint32_t *strings, *functions, *mappings, *locations, *stacks; /* ids in the builder; UINT32_MAX: not copied */
	struct named_line *lines; /* of the location being copied */
	uint32_t *at; /* of the stack being copied */
};

/* Both borrowed. 0 or -ENOMEM; named_copy_done() is needed in either case. */
int named_copy_init(struct named_copy *c, const struct named_profile *np, struct named_builder *b);
void named_copy_done(struct named_copy *c);

uint32_t named_copy_function(struct named_copy *c, uint32_t id);
uint32_t named_copy_mapping(struct named_copy *c, uint32_t id);
uint32_t named_copy_location(struct named_copy *c, uint32_t id);
uint32_t named_copy_stack(struct named_copy *c, uint32_t id);
bool named_copy_sample(struct named_copy *c, struct named_sample s); /* false: it has failed */

#endif
