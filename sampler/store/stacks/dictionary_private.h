#ifndef JS_STACKS_DICTIONARY_PRIVATE_H
#define JS_STACKS_DICTIONARY_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/store/stacks/dictionary.h"

/* In dictionary.depths: bits of the depth, and above them, what is left of NODE_FOUND: one less each time that nodes are forgotten. */
enum { NODE_DEPTH_BITS = 13, NODE_FOUND = 2 };

_Static_assert((int)DICT_DEPTH_MAX < 1 << NODE_DEPTH_BITS, "a depth has room");

/* Without looking whether it is there. false: out of memory. */
bool dictionary_put_row(struct dictionary_rows *r, const uint32_t *row);

/* Where a node's row is; SLOTS_NONE: it was forgotten. */
uint32_t dictionary_node_at(const struct dictionary *d, uint32_t node);

static inline uint32_t dictionary_depth_at(const struct dictionary *d, uint32_t position)
{
	return d->depths[position] & ((1 << NODE_DEPTH_BITS) - 1);
}

static inline uint32_t dictionary_node_of(const struct dictionary *d, uint32_t position)
{
	if (!position)
		return 0;
	return position < d->n_kept ? d->kept[position] : position + d->forgotten_nodes;
}

/* It is wanted again, and so is kept for longer. */
static inline uint32_t dictionary_node_found(const struct dictionary *d, uint32_t position)
{
	d->depths[position] = (uint16_t)(dictionary_depth_at(d, position) | NODE_FOUND << NODE_DEPTH_BITS);
	return dictionary_node_of(d, position);
}

#endif
