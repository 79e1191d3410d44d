#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>

/* In the order of their origins. */
static int list_jumps(struct graph_build *b)
{
	for (uint32_t i = 0; i < b->n_insns; i++)
		for_each_successor(s, b, i, 1) {
			if (b->jumps.n == GRAPH_MAX_JUMPS)
				return -E2BIG;
			if (!vec_push(&b->jumps, ((struct graph_jump){.from = i, .to = (uint32_t)s})))
				return -ENOMEM;
			b->insns[i].flags |= INSN_TAKEN; /* an indirect jump has not got it yet */
			b->insns[s].flags |= INSN_JOINED;
			b->goes_back = b->goes_back || (uint32_t)s <= i;
		}
	return 0;
}

/* A counting sort: while the lists are filled, to_start[i + 1] is where the next jump to i goes. */
static void sort_by_target(struct graph_build *b)
{
	for (uint32_t k = 0; k < b->jumps.n; k++)
		b->to_start[b->jumps.v[k].to + 2]++;
	for (uint32_t i = 0; i < b->n_insns; i++)
		b->to_start[i + 2] += b->to_start[i + 1];
	for (uint32_t k = 0; k < b->jumps.n; k++)
		b->by_target[b->to_start[b->jumps.v[k].to + 1]++] = k;
}

int build_link(struct graph_build *b)
{
	int r = list_jumps(b);

	if (r)
		return r;
	b->by_target = malloc((b->jumps.n + 1) * sizeof(*b->by_target));
	b->to_start = calloc((size_t)b->n_insns + 2, sizeof(*b->to_start));
	if (!b->by_target || !b->to_start)
		return -ENOMEM;
	sort_by_target(b);
	return 0;
}
