/* Samples of one query that were read apart, added up. */
#include <errno.h>
#include <stdlib.h>

#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/samples.h"
#include "symbolizer/base/cleanup.h"

/* Numbers of the one in those of the other, by table. */
struct merging {
	struct samples *to;
	const struct samples *from;
	uint32_t *ids[DICT_TABLES];
};

static void merging_done(struct merging *m)
{
	for (int t = 0; t < DICT_TABLES; t++)
		free(m->ids[t]);
}

static uint32_t translate(struct merging *m, enum dictionary_table t, uint32_t id)
{
	return dictionary_translate(m->from->names, t, id, m->to->names, m->ids);
}

/* The caller of a node comes before it. */
static int merge_nodes(struct merging *m)
{
	uint32_t n = dictionary_count(m->from->names, DICT_NODES), *ids = m->ids[DICT_NODES];

	for (uint32_t node = 1; node < n; node++) {
		const uint32_t *row = dictionary_row(m->from->names, DICT_NODES, node);
		const uint32_t new[] = {ids[row[0]], translate(m, DICT_FRAMES, row[1]), row[2]};

		ids[node] = new[1] == UINT32_MAX ? UINT32_MAX : dictionary_id(m->to->names, DICT_NODES, new);
		if (ids[node] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int merge_counts(struct merging *m)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->from->sum.n; i++) {
		const struct bucket_count *c = &m->from->sum.counts[i];
		uint32_t label = translate(m, DICT_LABELS, c->label);

		r = label == UINT32_MAX ?
			    -ENOMEM :
			    bucket_count(&m->to->sum, m->ids[DICT_NODES][c->node], label, c->count, c->weight);
	}
	return r;
}

static int merge_compiled(struct merging *m)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < m->from->compiled.n; i++) {
		struct named_compile c = m->from->compiled.v[i];
		uint32_t function = translate(m, DICT_FUNCTIONS, i);

		c.why_interpreted = translate(m, DICT_STRINGS, c.why_interpreted);
		r = function == UINT32_MAX || c.why_interpreted == UINT32_MAX ? -ENOMEM :
										samples_compiled(m->to, function, &c);
	}
	return r;
}

static void merge_times(struct samples *to, const struct samples *from)
{
	if (!to->last_s || from->first_s < to->first_s)
		to->first_s = from->first_s;
	if (from->last_s > to->last_s)
		to->last_s = from->last_s;
	to->sum.period = !to->buckets || to->sum.period == from->sum.period ? from->sum.period : 0;
	to->buckets += from->buckets;
	for (int i = 0; i < BUCKET_SUMS; i++)
		to->sum.sums[i] += from->sum.sums[i];
}

int samples_merge(struct samples *s, const struct samples *other)
{
	CLEANUP(merging_done) struct merging m = {.to = s, .from = other};
	int r;

	target_texts_add(&s->of, &other->of);
	if (!other->buckets)
		return 0;
	for (enum dictionary_table t = 0; t < DICT_TABLES; t++)
		if (!(m.ids[t] = calloc(dictionary_count(other->names, t), sizeof(uint32_t))))
			return -ENOMEM;
	s->unit = translate(&m, DICT_STRINGS, other->unit);
	merge_times(s, other);
	r = merge_nodes(&m);
	if (r == 0)
		r = merge_counts(&m);
	return r < 0 ? r : merge_compiled(&m);
}
