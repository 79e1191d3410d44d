#include "sampler/store/stacks/stacks_out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sampler/profile/named_builder.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/frame_bits.h"

int stacks_out_begin(struct stacks_out *o, const struct dictionary *dict, struct named_builder *b)
{
	*o = (struct stacks_out){
		.dict = dict,
		.b = b,
		.functions = calloc(dictionary_count(dict, DICT_FUNCTIONS), sizeof(uint32_t)),
		.mappings = calloc(dictionary_count(dict, DICT_MAPPINGS), sizeof(uint32_t)),
		.nodes = calloc(dictionary_count(dict, DICT_NODES), sizeof(struct stacks_out_node)),
	};
	return o->functions && o->mappings && o->nodes ? 0 : -ENOMEM;
}

void stacks_out_done(struct stacks_out *o)
{
	free(o->functions);
	free(o->mappings);
	free(o->nodes);
	vec_done(&o->lines);
	vec_done(&o->locations);
}

static const char *text(const struct stacks_out *o, uint32_t string)
{
	return strtab_get(o->dict->strings, string);
}

static uint32_t function_id(struct stacks_out *o, uint32_t id)
{
	const uint32_t *row = dictionary_row(o->dict, DICT_FUNCTIONS, id);

	if (id && !o->functions[id])
		o->functions[id] = named_builder_function(o->b, text(o, row[0]), text(o, row[1]), text(o, row[2]));
	return o->functions[id];
}

static uint32_t mapping_id(struct stacks_out *o, uint32_t id)
{
	const uint32_t *row = dictionary_row(o->dict, DICT_MAPPINGS, id);

	if (id && !o->mappings[id])
		o->mappings[id] = named_builder_mapping(o->b, text(o, row[0]), text(o, row[1]));
	return o->mappings[id];
}

/* A location ends at the first frame that is not joined to its caller. */
static bool find_location(struct stacks_out *o, uint32_t node)
{
	struct stacks_out_node *found = &o->nodes[node];
	bool joined = true;

	for (o->lines.n = 0; joined;) {
		const uint32_t *n = dictionary_row(o->dict, DICT_NODES, node),
			       *frame = dictionary_row(o->dict, DICT_FRAMES, n[1]);
		struct named_line line = frame_bits_line(frame[2]);

		line.function = function_id(o, frame[0]);
		line.line = (int32_t)n[2];
		if (!vec_push(&o->lines, line))
			return false;
		node = n[0];
		joined = frame_bits_joined(frame[2]) && node;
		if (!joined)
			found->location = named_builder_location(o->b, mapping_id(o, frame[1]), 0, o->lines.v,
								 (uint32_t)o->lines.n);
	}
	found->caller = node;
	return found->location != UINT32_MAX;
}

/* From leaf to root. Most stacks share callers with one before them. */
static bool collect_locations(struct stacks_out *o, uint32_t node)
{
	for (o->locations.n = 0; node; node = o->nodes[node].caller)
		if ((!o->nodes[node].location && !find_location(o, node)) ||
		    !vec_push(&o->locations, o->nodes[node].location))
			return false;
	return true;
}

uint32_t stacks_out_stack(struct stacks_out *o, uint32_t node)
{
	return collect_locations(o, node) ? named_builder_stack(o->b, o->locations.v, (uint32_t)o->locations.n) :
					    UINT32_MAX;
}
