#include "sampler/daemon/host/fair.h"

#include <stdlib.h>

#include "symbolizer/base/sorted.h"

static int by_owner(const void *va, const void *vb)
{
	const struct fair *a = va, *b = vb;

	return ascending(a->owner, b->owner) ?: ascending(a->due_ns, b->due_ns) ?: ascending(a->pid, b->pid);
}

static int by_rank(const void *va, const void *vb)
{
	const struct fair *a = va, *b = vb;

	return ascending(a->last, b->last) ?: ascending(a->rank, b->rank) ?: by_owner(va, vb);
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
