#include <stdlib.h>

#include "sampler/input/pprof_parse.h"
#include "symbolizer/base/sorted.h"

/* Ids are nearly always 1, 2, 3, ...: the id then gives the position. */
bool pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t at)
{
	return vec_push(ids, ((struct pprof_id){id, at}));
}

static int id_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pprof_id *)a)->id, y = ((const struct pprof_id *)b)->id;

	return ascending(x, y);
}

bool pprof_ids_sort(struct pprof_ids *ids)
{
	bool sorted = true;

	for (size_t i = 1; i < ids->n && sorted; i++)
		sorted = ids->v[i - 1].id < ids->v[i].id;
	if (sorted)
		return true;
	qsort(ids->v, ids->n, sizeof(*ids->v), id_compare);
	for (size_t i = 1; i < ids->n; i++)
		if (ids->v[i - 1].id == ids->v[i].id)
			return false;
	return true;
}

const uint32_t *pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	const struct pprof_id key = {.id = id}, *found;

	if (id && id <= ids->n && ids->v[id - 1].id == id)
		return &ids->v[id - 1].at;
	if (!ids->n)
		return NULL;
	found = bsearch(&key, ids->v, ids->n, sizeof(*ids->v), id_compare);
	return found ? &found->at : NULL;
}
