#include "sampler/store/stacks/stacks_in.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/named_profile.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/frame_bits.h"

int stacks_in_begin(struct stacks_in *a, struct dictionary *dict, const struct named_profile *np)
{
	*a = (struct stacks_in){
		.dict = dict,
		.np = np,
		.functions = calloc((size_t)np->n_functions + 1, sizeof(uint32_t)),
		.mappings = calloc((size_t)np->n_mappings + 1, sizeof(uint32_t)),
		.frames = calloc((size_t)np->n_lines + 1, sizeof(uint32_t)),
		.nodes = calloc((size_t)np->n_stacks + 1, sizeof(uint32_t)),
		.path = malloc(DICT_DEPTH_MAX * sizeof(*a->path)),
	};
	return a->functions && a->mappings && a->frames && a->nodes && a->path ? 0 : -ENOMEM;
}

void stacks_in_done(struct stacks_in *a)
{
	free(a->functions);
	free(a->mappings);
	free(a->frames);
	free(a->nodes);
	free(a->path);
}

uint32_t stacks_in_text(struct stacks_in *a, uint32_t string)
{
	return dictionary_string(a->dict, named_string(a->np, string));
}

/* The number of a row of strings. */
static uint32_t texts_id(struct stacks_in *a, enum dictionary_table t, uint32_t one, uint32_t two, uint32_t three)
{
	uint32_t row[] = {stacks_in_text(a, one), stacks_in_text(a, two), stacks_in_text(a, three)};

	if (row[0] == UINT32_MAX || row[1] == UINT32_MAX || row[2] == UINT32_MAX)
		return UINT32_MAX;
	return dictionary_id(a->dict, t, row);
}

uint32_t stacks_in_function(struct stacks_in *a, uint32_t function)
{
	const struct named_function *f = &a->np->functions[function];

	if (function && !a->functions[function])
		a->functions[function] = texts_id(a, DICT_FUNCTIONS, f->name, f->system_name, f->file);
	return a->functions[function];
}

static uint32_t mapping_id(struct stacks_in *a, uint32_t mapping)
{
	const struct named_mapping *m = &a->np->mappings[mapping];

	if (mapping && !a->mappings[mapping])
		a->mappings[mapping] = texts_id(a, DICT_MAPPINGS, m->file, m->build_id, 0);
	return a->mappings[mapping];
}

/* The i-th of the innermost n frames of a location. */
static uint32_t frame_id(struct stacks_in *a, const struct named_location *l, uint32_t i, uint32_t n)
{
	const struct named_line *line = &a->np->lines[l->first_line + i];
	uint32_t *known = n == l->n_lines ? &a->frames[l->first_line + i] : NULL;
	uint32_t row[DICT_COLUMNS], id;

	if (known && *known)
		return *known;
	row[0] = stacks_in_function(a, line->function);
	row[1] = mapping_id(a, l->mapping);
	row[2] = frame_bits(line, i + 1 < n);
	if (row[0] == UINT32_MAX || row[1] == UINT32_MAX)
		return UINT32_MAX;
	id = dictionary_id(a->dict, DICT_FRAMES, row);
	if (known)
		*known = id;
	return id;
}

static const struct named_location *location_of(const struct stacks_in *a, const struct named_stack *st, uint32_t k)
{
	return &a->np->locations[a->np->stack_locations[st->first + k]];
}

/* The root in place of what is not kept. */
static uint32_t truncated_frame(struct stacks_in *a)
{
	const struct named_line line = {.kind = NAMED_MARK};
	uint32_t name = dictionary_string(a->dict, frame_mark_text(MARK_TRUNCATED)), row[] = {name, 0, 0};
	uint32_t frame[] = {0, 0, frame_bits(&line, false)};

	if (name != UINT32_MAX)
		frame[0] = dictionary_id(a->dict, DICT_FUNCTIONS, row);
	return name == UINT32_MAX || frame[0] == UINT32_MAX ? UINT32_MAX : dictionary_id(a->dict, DICT_FRAMES, frame);
}

/*
 * Puts the innermost n frames of one location before those of a->path that begin at `at`; all but the outermost are
 * marked as joined. Returns where they begin; 0: out of memory.
 */
static size_t put_location(struct stacks_in *a, const struct named_location *l, uint32_t n, size_t at)
{
	for (uint32_t i = 0; i < n; i++) {
		a->path[--at] =
			(struct dictionary_frame){frame_id(a, l, i, n), (uint32_t)a->np->lines[l->first_line + i].line};
		if (a->path[at].frame == UINT32_MAX)
			return 0;
	}
	return at;
}

/* A stack deeper than a file may have loses its outer frames, for which there is one in the end. */
static uint32_t add_stack(struct stacks_in *a, const struct named_stack *st)
{
	struct dictionary_frame root = {0};
	size_t at = DICT_DEPTH_MAX;
	uint32_t n = 0, whole = 0;

	for (uint32_t k = 0; k < st->n && n == whole && at > 0; k++) {
		const struct named_location *l = location_of(a, st, k);

		whole = l->n_lines;
		n = whole < at ? whole : (uint32_t)at - 1;
		at = put_location(a, l, n, at);
	}
	root.frame = at > 0 && n < whole ? truncated_frame(a) : 0;
	if (at == 0 || root.frame == UINT32_MAX)
		return UINT32_MAX;
	if (n < whole)
		a->path[--at] = root;
	return dictionary_stack(a->dict, a->path + at, DICT_DEPTH_MAX - at);
}

uint32_t stacks_in_node(struct stacks_in *a, uint32_t stack)
{
	if (!a->nodes[stack])
		a->nodes[stack] = add_stack(a, &a->np->stacks[stack]);
	return a->nodes[stack];
}

uint32_t stacks_in_event(struct stacks_in *a)
{
	const struct named_meta *m = &a->np->meta;
	uint32_t row[] = {dictionary_string(a->dict, m->event), dictionary_string(a->dict, m->unit)};

	return row[0] == UINT32_MAX || row[1] == UINT32_MAX ? UINT32_MAX : dictionary_id(a->dict, DICT_EVENTS, row);
}
