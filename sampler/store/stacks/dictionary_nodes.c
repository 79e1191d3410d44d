/* Which nodes a writer has in memory. */
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/dictionary_private.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

uint32_t dictionary_node_at(const struct dictionary *d, uint32_t node)
{
	size_t at;

	if (!node)
		return 0;
	if (node > d->forgotten_nodes && node - d->forgotten_nodes >= d->n_kept)
		return node - d->forgotten_nodes;
	at = 1 + first_where(d->n_kept - 1, i, d->kept[i + 1] >= node);
	return at < d->n_kept && d->kept[at] == node ? (uint32_t)at : SLOTS_NONE;
}

bool dictionary_has_node(const struct dictionary *d, uint32_t node)
{
	return node < dictionary_count(d, DICT_NODES) && dictionary_node_at(d, node) != SLOTS_NONE;
}

uint32_t dictionary_depth(const struct dictionary *d, uint32_t node)
{
	return dictionary_depth_at(d, dictionary_node_at(d, node));
}

/* Where the caller of the node at position i is: usually just before it. */
static uint32_t caller_at(const struct dictionary *d, uint32_t i)
{
	const struct dictionary_rows *r = &d->rows[DICT_NODES];
	uint32_t caller = r->v[(size_t)i * r->width];

	return dictionary_node_of(d, i - 1) == caller ? i - 1 : dictionary_node_at(d, caller);
}

/* Those from position `newest` on, those that were found lately, and the callers of all these. Returns how many. */
static uint32_t choose(const struct dictionary *d, uint32_t newest, uint32_t found, bool *keep)
{
	const struct dictionary_rows *r = &d->rows[DICT_NODES];
	uint32_t n = 1;

	memset(keep, 0, r->n * sizeof(*keep));
	for (uint32_t i = r->n; i-- > 1;)
		if (keep[i] || i >= newest || d->depths[i] >> NODE_DEPTH_BITS >= found) {
			keep[caller_at(d, i)] = true;
			keep[i] = true;
			n++;
		}
	keep[0] = true;
	return n;
}

struct kept {
	struct dictionary_rows rows;
	uint16_t *depths;
	uint32_t *numbers;
};

static void kept_done(struct kept *k)
{
	free(k->rows.v);
	slots_done(&k->rows.index);
	free(k->depths);
	free(k->numbers);
}

static bool copy(const struct dictionary *d, const bool *keep, struct kept *k)
{
	const struct dictionary_rows *r = &d->rows[DICT_NODES];

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t at = k->rows.n, found = d->depths[i] >> NODE_DEPTH_BITS;

		if (!keep[i])
			continue;
		k->numbers[at] = dictionary_node_of(d, i);
		k->depths[at] = (uint16_t)(dictionary_depth_at(d, i) | (found ? found - 1 : 0) << NODE_DEPTH_BITS);
		if (!dictionary_put_row(&k->rows, r->v + (size_t)i * r->width))
			return false;
	}
	return true;
}

/* Without memory, it keeps all. */
static void keep_only(struct dictionary *d, const bool *keep, uint32_t n)
{
	struct dictionary_rows *r = &d->rows[DICT_NODES];
	uint32_t cap = n + DICT_NODES_MAX / 2; /* until the next time */
	CLEANUP(kept_done)
	struct kept k = {
		.rows = {.width = r->width, .cap = cap, .v = malloc((size_t)cap * r->width * sizeof(*r->v))},
		.depths = malloc(cap * sizeof(*k.depths)),
		.numbers = malloc(n * sizeof(*k.numbers)),
	};
	struct kept old;

	if (!k.rows.v || !k.depths || !k.numbers || !slots_reserve(&k.rows.index, n) || !copy(d, keep, &k))
		return;
	old = (struct kept){*r, d->depths, d->kept};
	d->forgotten_nodes += r->n - n;
	d->n_kept = n;
	*r = k.rows;
	d->depths = k.depths;
	d->kept = k.numbers;
	k = old;
}

void dictionary_forget(struct dictionary *d)
{
	uint32_t total = d->rows[DICT_NODES].n, newest = total - DICT_NODES_MAX / 2, n;
	CLEANUP(free_at_exit) bool *keep = NULL;

	if (total <= DICT_NODES_MAX || d->saved[DICT_NODES] < dictionary_count(d, DICT_NODES) ||
	    d->forgot_at == dictionary_count(d, DICT_NODES))
		return;
	d->forgot_at = dictionary_count(d, DICT_NODES);
	keep = malloc(total * sizeof(*keep));
	if (!keep)
		return;
	n = choose(d, newest, 1, keep);
	if (n > 2 * DICT_NODES_MAX)
		n = choose(d, newest, NODE_FOUND + 1, keep); /* too many to keep for being wanted */
	keep_only(d, keep, n);
}

void dictionary_skip_nodes(struct dictionary *d, uint32_t count)
{
	d->forgotten_nodes = count - 1;
	d->settled[DICT_NODES] = d->saved[DICT_NODES] = count;
}
