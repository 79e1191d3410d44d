#include "sampler/daemon/host/fair.h"

#include <stdlib.h>

static int by_owner(const void *va, const void *vb)
{
	const struct fair *a = va, *b = vb;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_rank(const void *va, const void *vb)
{
	const struct fair *a = va, *b = vb;

	if (a->last != b->last)
		return a->last ? 1 : -1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return by_owner(va, vb);
}

void fair_order(struct fair *v, size_t n)
{
	if (!n)
		return;
	qsort(v, n, sizeof(*v), by_owner);
	v[0].rank = 0;
	for (size_t i = 1; i < n; i++)
		v[i].rank = v[i].owner == v[i - 1].owner ? v[i - 1].rank + 1 : 0;
	qsort(v, n, sizeof(*v), by_rank);
}
