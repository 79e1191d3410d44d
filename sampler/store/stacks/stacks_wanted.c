#include "sampler/store/stacks/stacks_wanted.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/stacks/dictionary.h"

enum { NOT_KNOWN, NO, YES };

int stacks_wanted_begin(struct stacks_wanted *w)
{
	w->functions = calloc(dictionary_count(w->dict, DICT_FUNCTIONS), 1);
	w->nodes = calloc(dictionary_count(w->dict, DICT_NODES), 1);
	return w->functions && w->nodes ? 0 : -ENOMEM;
}

void stacks_wanted_done(struct stacks_wanted *w)
{
	free(w->functions);
	free(w->nodes);
}

void stacks_wanted_know(struct stacks_wanted *w, uint32_t function, bool wanted)
{
	w->functions[function] = wanted ? YES : NO;
}

static uint32_t parent_of(const struct stacks_wanted *w, uint32_t node)
{
	return dictionary_row(w->dict, DICT_NODES, node)[0];
}

static uint32_t function_of(const struct stacks_wanted *w, uint32_t node)
{
	return dictionary_row(w->dict, DICT_FRAMES, dictionary_row(w->dict, DICT_NODES, node)[1])[0];
}

static int judge_function(struct stacks_wanted *w, uint32_t id, struct err *err)
{
	const uint32_t *row = dictionary_row(w->dict, DICT_FUNCTIONS, id);
	int r;

	if (w->functions[id] == NOT_KNOWN) {
		r = w->wants(w->ctx, strtab_get(w->dict->strings, row[0]), err);
		if (r < 0)
			return r;
		w->functions[id] = r ? YES : NO;
	}
	return w->functions[id];
}

/* From the leaf towards the root up to the first that is wanted, or known; what is below that one is like it. */
static int judge_node(struct stacks_wanted *w, uint32_t node, struct err *err)
{
	int found = NO;

	for (uint32_t n = node; n && found == NO; n = parent_of(w, n)) {
		found = w->nodes[n] ? w->nodes[n] : judge_function(w, function_of(w, n), err);
		if (w->nodes[n] || w->self)
			break;
	}
	return found;
}

int stacks_wanted_node(struct stacks_wanted *w, uint32_t node, struct err *err)
{
	int found = judge_node(w, node, err);

	if (found < 0)
		return found;
	for (uint32_t n = node; n && !w->nodes[n]; n = parent_of(w, n)) {
		w->nodes[n] = (uint8_t)found;
		if (w->self || w->functions[function_of(w, n)] == YES)
			break;
	}
	return found == YES;
}
